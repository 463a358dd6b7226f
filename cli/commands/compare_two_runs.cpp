#include "cli/commands/compare_two_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "cli/print/run_printer.h"
#include "core/trace/compare_losses.h"
#include "core/trace/compare_traces.h"
#include "formats/runs/report_json.h"

namespace plimsoll {
namespace {

const Trace& trace_of(const OpenedRun& run) { return run.file.trace("run")->trace; }
const Plan& plan_of(const OpenedRun& run) { return *run.file.plan(trace_of(run).plan_digest); }

/// Writes down in what two trainings differ beside the plan.
class OtherWork {
 public:
  template <typename Value>
  void note(std::string_view what, const Value& first, const Value& second) {
    if (first != second) differing_.push_back(fmt::format("{} ({} and {})", what, first, second));
  }
  void note(std::string_view what, bool differs) {
    if (differs) differing_.emplace_back(what);
  }
  /// Takes the field over into what is left to compare, once it is noted.
  template <typename Field>
  void field(std::string_view what, Recipe& rest, const Recipe& second, Field Recipe::*member) {
    note(what, rest.*member, second.*member);
    rest.*member = second.*member;
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(differing_); }

 private:
  std::vector<std::string> differing_;
};

void note_recipe(OtherWork& work, Recipe rest, const Recipe& second) {
  work.field("sequences of a micro-batch", rest, second, &Recipe::micro_batch);
  work.field("micro-batches", rest, second, &Recipe::accumulate);
  work.field("tokens of a sequence", rest, second, &Recipe::sequence);
  work.note("precision", to_text(rest.precision), to_text(second.precision));
  rest.precision = second.precision;
  work.note("optimizer", to_text(rest.optimizer), to_text(second.optimizer));
  rest.optimizer = second.optimizer;
  work.field("learning rate", rest, second, &Recipe::learning_rate);
  Recipe scheduled = rest;
  scheduled.schedule = second.schedule;
  scheduled.warmup_steps = second.warmup_steps;
  scheduled.total_steps = second.total_steps;
  work.note("its schedule", scheduled != rest);
  rest = scheduled;
  work.field("weight decay", rest, second, &Recipe::weight_decay);
  work.field("clipping", rest, second, &Recipe::clip);
  work.field("seed", rest, second, &Recipe::seed);
  work.note("loss scaling", rest.loss_scaling != second.loss_scaling);
  rest.loss_scaling = second.loss_scaling;
  work.field("beta1", rest, second, &Recipe::beta1);
  work.field("beta2", rest, second, &Recipe::beta2);
  work.field("epsilon", rest, second, &Recipe::epsilon);
  work.note("library of matrix products", to_text(rest.matmul), to_text(second.matmul));
  rest.matmul = second.matmul;
  work.note("adapters", rest.adapter != second.adapter);
  rest.adapter = second.adapter;
  work.note("more of the recipe", rest != second);
}

/// The file that a command line named behind an option, without its folders; empty where it did not.
std::string file_behind(const OpenedRun& run, std::string_view option) {
  const std::string& command = run.file.meta.command;
  const std::string before = fmt::format(" {} ", option);
  const auto at = command.find(before);
  if (at == std::string::npos) return {};
  const std::string path = command.substr(at + before.size(), command.find(" -", at + before.size()) - at - before.size());
  return path.substr(path.find_last_of('/') + 1);
}

/// The GPU of a run on one.
std::string board_of(const OpenedRun& run) { return trace_of(run).is_of_device() ? plan_of(run).platform.name : "CPU"; }

/// In words: with any of these a step is other work, or its losses are others.
std::vector<std::string> other_work(const OpenedRun& first, const OpenedRun& second) {
  OtherWork work;
  const Plan &a = plan_of(first), &b = plan_of(second);
  if (a.spec.name != b.spec.name) work.note("model", a.spec.name, b.spec.name);
  else work.note("model", a.spec != b.spec);
  note_recipe(work, a.recipe, b.recipe);
  for (const char* option : {"--data", "--init", "--init-adapter", "--resume"}) {
    const std::string one = file_behind(first, option), other = file_behind(second, option);
    work.note(option, one.empty() ? "none" : one, other.empty() ? "none" : other);
  }
  work.note("board", board_of(first), board_of(second));
  work.note("computer", first.file.meta.machine, second.file.meta.machine);
  return work.take();
}

std::string steps_text(std::size_t steps) { return steps == 1 ? "the one step that both have" : fmt::format("all {} steps", steps); }

std::string losses_text(const ComparedLosses& losses) {
  if (losses.steps == 0) return "  losses: no step is in both\n";
  const std::string unknown = losses.unknown > 0 ? fmt::format(", of which {} are no number", losses.unknown) : std::string();
  if (!losses.first_apart) return fmt::format("  losses: the same bits in {}{}\n", steps_text(losses.steps), unknown);
  const auto& apart = *losses.first_apart;
  const std::string largest = losses.largest ? fmt::format(", by at most {:.2g} in {} steps", *losses.largest, losses.steps) : std::string();
  return fmt::format("  losses: apart from step {} on ({} and {}){}{}\n", apart.step + 1, apart.first, apart.second, largest, unknown);
}

std::string run_text(std::string_view column, const OpenedRun& run) {
  const Strategy& strategy = plan_of(run).strategy;
  return fmt::format("  {:<10} {}, '{}': {}\n", column, run.path, strategy.name, describe(strategy));
}

constexpr ComparedNames kNames{.first = "the other",
                               .second = "this run",
                               .difference = "difference",
                               .no_memory = "peak memory was not measured in both: a run that was killed never tells it"};

std::string text_of(const Comparison& comparison, const ComparisonAnswer& answer, const OpenedRun& other, const OpenedRun& run) {
  std::string text = run_text(kNames.first, other) + run_text(kNames.second, run);
  if (!answer.other_work.empty()) text += fmt::format("  they differ in more than the plan: {}\n", fmt::join(answer.other_work, ", "));
  return text + comparison_text(comparison, kNames) + losses_text(*answer.losses);
}

}  // namespace

Result<Answered> compare_two_runs(const OpenedRun& run, const OpenedRun& other, std::optional<double> threshold, bool json) {
  const auto comparison =
      compare_runs({plan_of(other), trace_of(other), other.path}, {plan_of(run), trace_of(run), run.path});
  if (!comparison) return fail(comparison.error());
  ComparisonAnswer answer = comparison_answer(*comparison);
  answer.other_work = other_work(other, run);
  answer.losses = compare_losses(other.file.steps(), run.file.steps());
  const bool missed = threshold && std::fabs(comparison->error()) > *threshold / 100;
  return Answered{.code = missed ? ExitCode::kMissed : ExitCode::kDone,
                  .text = json ? to_json(answer) : text_of(*comparison, answer, other, run),
                  .said = {}};
}

}  // namespace plimsoll
