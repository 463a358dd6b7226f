#include "cli/print/run_printer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace plimsoll {
namespace {

constexpr std::size_t kCurveWidth = 60;
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::milliseconds kLineInterval{1000};
constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// A share in percent; from ten times the whole on, how many times.
std::string share_text(double share) {
  constexpr double kMany = 10;
  return std::abs(share) < kMany ? fmt::format("{:+.1f} %", 100 * share) : fmt::format("{:+.0f} x", share);
}

std::string percent(Nanoseconds predicted, Nanoseconds measured, Nanoseconds whole) {
  if (whole.count == 0) return "-";
  return share_text(static_cast<double>(measured.count - predicted.count) / static_cast<double>(whole.count));
}

std::string difference(Bytes predicted, Bytes measured, bool of_two_runs) {
  const Bytes whole = of_two_runs ? predicted : measured;
  if (whole.count == 0) return "-";
  return share_text(static_cast<double>(measured.count - predicted.count) / static_cast<double>(whole.count));
}

std::string memory_rows(const Comparison& comparison, const ComparedNames& names) {
  if (comparison.memory.empty()) return fmt::format("  {}\n", names.no_memory);
  const bool two = comparison.of_two_runs;
  std::string text = fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", "peak memory", names.first, names.second, names.difference);
  for (const ComparedMemory& space : comparison.memory) {
    text += fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", space.space, to_text(space.predicted),
                        to_text(space.measured), difference(space.predicted, space.measured, two));
    for (const auto& category : space.by_category) {
      if (category.predicted < kMiB && category.measured < kMiB) continue;
      text += fmt::format("    {:<24}{:>14}{:>14}{:>12}\n", to_text(category.kind), to_text(category.predicted),
                          to_text(category.measured), difference(category.predicted, category.measured, two));
    }
  }
  if (!comparison.process) return text;
  const ComparedProcess& process = *comparison.process;
  const auto row = [&](const char* name, Bytes predicted, Bytes measured) {
    text += fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", name, to_text(predicted), to_text(measured),
                        difference(predicted, measured, two));
  };
  row("process", process.predicted(), process.measured);
  row("  arenas", process.arenas, process.arenas);
  row("  events", process.events, process.measured_events);
  row("  program", process.program, process.measured_program());
  return text;
}

}  // namespace

RunPrinter::RunPrinter(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

RunPrinter::~RunPrinter() {
  if (line_open_) std::fputs("\n", stderr);
}

RunWatcher RunPrinter::watcher() {
  return {.on_stage = [this](const std::string& text) { stage(text); },
          .on_plan = [this](const Plan& p, const Prediction& prediction,
                            const std::vector<Candidate>& candidates) { plan(p, prediction, candidates); },
          .on_step = [this](const StepSummary& summary, std::int64_t end) { step(summary, end); },
          .on_evaluation = [this](std::int64_t done, const HeldOut& found) { evaluation(done, found); },
          .on_warning = [this](const std::string& text) { warning(text); }};
}

void RunPrinter::say(const std::string& text) {
  if (!quiet_) put(text);
}

void RunPrinter::warning(const std::string& text) { put("warning: " + text); }

void RunPrinter::put(const std::string& text) {
  std::fputs(fmt::format("{}plimsoll: {}\n", line_open_ ? "\n" : "", text).c_str(), stderr);
  line_open_ = false;
}

void RunPrinter::stage(const std::string& text) { say(text); }

void RunPrinter::plan(const Plan& plan, const Prediction& prediction, const std::vector<Candidate>& candidates) {
  const auto fitting = std::count_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.fits(); });
  say(fmt::format("plan '{}': {}", plan.strategy.name, describe(plan.strategy)));
  if (!candidates.empty())
    say(fmt::format("{} of {} candidate plans fit; this one is the fastest", fitting, candidates.size()));
  say(fmt::format("predicted step {} ({} to {})", to_text(prediction.step), to_text(prediction.low),
                  to_text(prediction.high)));
  if (const auto& steps = prediction.guarded) {
    say(fmt::format("{} when no step clips, {} when every step does ({:.0f} % taken to clip)", to_text(steps->skipped),
                    to_text(steps->run), 100 * steps->probability));
  }
}

void RunPrinter::step(const StepSummary& step, std::int64_t end_step) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool last = step.step + 1 == end_step;
  if (!last && now - last_step_ < (terminal_ ? kTerminalInterval : kLineInterval)) return;
  last_step_ = now;
  const std::string experts = step.expert_loss == 0 && step.expert_overflow == 0
                                  ? ""
                                  : fmt::format("  experts {:.4f}, {:.1f} % refused", step.expert_loss,
                                                100 * step.expert_overflow);
  const std::string line =
      fmt::format("step {:>{}}/{}  loss {:.4f}{}  {}", step.step + 1, fmt::to_string(end_step).size(), end_step,
                  step.loss, experts, to_text(step.duration()));
  if (!terminal_) return say(line);
  std::fputs(fmt::format("\r\033[K{}{}", line, last ? "\n" : "").c_str(), stderr);
  line_open_ = !last;
}

void RunPrinter::evaluation(std::int64_t steps_done, const HeldOut& found) {
  const std::string right = found.right ? fmt::format(", {:.2f} % right", 100 * *found.right) : "";
  say(fmt::format("after {} steps the held-out loss is {:.4f}{}", steps_done, found.loss, right));
}

std::string expert_text(const std::vector<StepSummary>& steps) {
  if (steps.empty()) return {};
  double refused = 0, most = 0;
  for (const StepSummary& step : steps) {
    refused += step.expert_overflow / static_cast<double>(steps.size());
    most = std::max(most, step.expert_overflow);
  }
  return fmt::format("  experts: auxiliary loss {:.5f} → {:.5f}, {:.1f} % of the tokens' choices refused (at most {:.1f} % in a "
                     "step)\n",
                     steps.front().expert_loss, steps.back().expert_loss, 100 * refused, 100 * most);
}

std::string comparison_text(const Comparison& comparison, const ComparedNames& names) {
  const Nanoseconds whole = comparison.whole();
  std::string text = fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", "time of a step", names.first, names.second, "of the step");
  for (const ComparedPart& part : comparison.parts) {
    if (part.predicted.count == 0 && part.measured.count == 0) continue;
    text += fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", to_text(part.part), to_text(part.predicted),
                        to_text(part.measured), percent(part.predicted, part.measured, whole));
  }
  text += fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", "together", to_text(comparison.predicted_step),
                      to_text(comparison.measured_step),
                      percent(comparison.predicted_step, comparison.measured_step, whole));
  if (comparison.alike_steps < comparison.traced_steps) {
    text += fmt::format("  measured: the median of {} of {} traced steps, those that redid updates as the prediction does\n",
                        comparison.alike_steps, comparison.traced_steps);
  }
  if (comparison.untraced_error()) {
    text += fmt::format("  {:<26}{:>14}{:>14}{:>12}\n", "steps without a trace", to_text(comparison.untraced_predicted),
                        to_text(comparison.untraced_step),
                        share_text(*comparison.untraced_error()));
  }
  return text + memory_rows(comparison, names);
}

std::string loss_text(const std::vector<StepSummary>& steps) {
  if (steps.empty()) return {};
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const StepSummary& step : steps) {
    if (!std::isfinite(step.loss)) continue;
    low = std::min(low, step.loss);
    high = std::max(high, step.loss);
  }
  std::string curve;
  const std::size_t width = std::min(kCurveWidth, steps.size());
  for (std::size_t column = 0; column < width; ++column) {
    const double loss = steps[column * steps.size() / width].loss;
    const double share = high > low ? (loss - low) / (high - low) : 0;
    curve += std::isfinite(loss) ? kBars[std::min<std::size_t>(7, static_cast<std::size_t>(share * 8))] : "?";
  }
  return fmt::format("  loss {:.4f} → {:.4f} over {} steps  {}\n", steps.front().loss, steps.back().loss, steps.size(),
                     curve);
}

}  // namespace plimsoll
