#include "cli/print/progress_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "formats/text/json_text.h"
#include "profiler/probe/process_memory.h"
#include "sim/planner/lower_to_plan.h"

namespace plimsoll {
namespace {

template <typename... Told>
std::function<void(Told...)> both(std::function<void(Told...)> first, std::function<void(Told...)> second) {
  return [first = std::move(first), second = std::move(second)](Told... told) {
    if (first) first(told...);
    second(told...);
  };
}

std::string memory_of(const Plan& plan) {
  std::vector<std::string> spaces;
  for (const SpaceNeed& need : space_needs(plan)) {
    spaces.push_back(JsonLine().text("space", plan.platform.at(need.space).name).integer("peak_bytes", need.needed.count)
                         .integer("usable_bytes", need.usable.count).str());
  }
  return json_list(spaces);
}

}  // namespace

Result<void> check_progress(int descriptor) {
  if (descriptor == -1) return {};
  const int flags = descriptor < 0 ? -1 : fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("--progress-fd {} is not open for writing", descriptor),
               .where = {},
               .remedy = "open it in the program that starts this one, for example 3>progress.jsonl"});
}

void ProgressLines::write(const std::string& line) {
  if (descriptor_ < 0) return;
  const std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(descriptor_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return void(descriptor_ = -1);
    done += static_cast<std::size_t>(wrote);
  }
}

void ProgressLines::plan(const Plan& plan, const Prediction& prediction) {
  write(JsonLine().text("event", "plan").text("model", plan.spec.name).text("strategy", plan.strategy.name)
            .text("description", describe(plan.strategy)).number("step_seconds", to_seconds(prediction.step))
            .number("step_seconds_low", to_seconds(prediction.low)).number("step_seconds_high", to_seconds(prediction.high))
            .integer("tokens_per_step", plan.recipe.tokens_per_step()).raw("memory", memory_of(plan)).str());
}

void ProgressLines::step(const StepSummary& step, std::int64_t end_step) {
  if (descriptor_ < 0) return;
  const auto memory = process_memory();
  write(JsonLine().text("event", "step").integer("step", step.step).integer("end_step", end_step)
            .raw("loss", json_number_17(step.loss)).number("seconds", to_seconds(step.duration()))
            .number("gradient_norm", step.gradient_norm).number("learning_rate", step.learning_rate)
            .raw("process_bytes", memory ? std::to_string(memory->anonymous.count) : "null").str());
}

RunWatcher ProgressLines::beside(RunWatcher watcher) {
  if (descriptor_ < 0) return watcher;
  const auto say = [this](const char* event) {
    return std::function<void(const std::string&)>([this, event](const std::string& text) {
      write(JsonLine().text("event", event).text("text", text).str());
    });
  };
  watcher.on_stage = both(std::move(watcher.on_stage), say("stage"));
  watcher.on_warning = both(std::move(watcher.on_warning), say("warning"));
  watcher.on_plan = both(std::move(watcher.on_plan), decltype(watcher.on_plan)([this](const Plan& chosen, const Prediction& prediction, const auto&) {
                           plan(chosen, prediction);
                         }));
  watcher.on_step = both(std::move(watcher.on_step), decltype(watcher.on_step)([this](const StepSummary& done, std::int64_t end_step) {
                           step(done, end_step);
                         }));
  watcher.on_evaluation = both(std::move(watcher.on_evaluation), decltype(watcher.on_evaluation)([this](std::int64_t done, const HeldOut& found) {
                                 write(JsonLine().text("event", "evaluation").integer("steps", done).number("loss", found.loss).str());
                               }));
  return watcher;
}

void ProgressLines::end(const RunOutcome& outcome, const std::string& file) {
  write(JsonLine().text("event", "end").flag("interrupted", outcome.interrupted).text("file", file)
            .text("checkpoint", outcome.checkpoint).str());
}

void ProgressLines::end(const Error& error) {
  write(JsonLine().text("event", "error").text("text", error.text()).str());
}

}  // namespace plimsoll
