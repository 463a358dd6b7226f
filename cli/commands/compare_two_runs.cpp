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

/// In what two trainings differ beside the plan, in words: with any of these a step is other work, or its losses are others.
std::vector<std::string> other_work(const Plan& a, const Plan& b) {
  std::vector<std::string> differing;
  const auto note = [&differing](std::string_view what, const auto& first, const auto& second) {
    if (first != second) differing.push_back(fmt::format("{} ({} and {})", what, first, second));
  };
  const Recipe &first = a.recipe, &second = b.recipe;
  if (a.spec != b.spec) differing.push_back(a.spec.name == b.spec.name ? "model" : fmt::format("model ({} and {})", a.spec.name, b.spec.name));
  note("sequences of a micro-batch", first.micro_batch, second.micro_batch);
  note("micro-batches", first.accumulate, second.accumulate);
  note("tokens of a sequence", first.sequence, second.sequence);
  note("precision", to_text(first.precision), to_text(second.precision));
  note("optimizer", to_text(first.optimizer), to_text(second.optimizer));
  note("learning rate", first.learning_rate, second.learning_rate);
  note("seed", first.seed, second.seed);
  if (differing.empty() && first != second) differing.emplace_back("recipe");
  return differing;
}

std::string losses_text(const ComparedLosses& losses) {
  if (losses.steps == 0) return "  losses: no step is in both\n";
  if (!losses.first_apart) return fmt::format("  losses: the same bits in all {} steps\n", losses.steps);
  const auto& apart = *losses.first_apart;
  return fmt::format("  losses: apart from step {} on ({:.6f} and {:.6f}), by at most {:.2g} in {} steps\n", apart.step + 1, apart.first,
                     apart.second, losses.largest, losses.steps);
}

std::string plans_text(const Plan& other, const Plan& plan) {
  if (other.strategy == plan.strategy) return {};
  return fmt::format("  the other  '{}': {}\n  this run   '{}': {}\n", other.strategy.name, describe(other.strategy), plan.strategy.name,
                     describe(plan.strategy));
}

std::string text_of(const Comparison& comparison, const ComparisonAnswer& answer, const Plan& other, const Plan& plan) {
  std::string text = plans_text(other, plan);
  if (!answer.other_work.empty()) text += fmt::format("  they trained otherwise: {}\n", fmt::join(answer.other_work, ", "));
  return text + comparison_text(comparison, {.first = "the other", .second = "this run", .difference = "difference", .of_first = true}) + losses_text(*answer.losses);
}

}  // namespace

Result<Answered> compare_two_runs(const RunFile& run, const RunFile& other, std::optional<double> threshold, bool json) {
  const NamedTrace *first = other.trace("run"), *second = run.trace("run");
  const Plan *first_plan = other.plan(first->trace.plan_digest), *second_plan = run.plan(second->trace.plan_digest);
  const auto comparison = compare_runs(*first_plan, first->trace, *second_plan, second->trace);
  if (!comparison) return fail(comparison.error());
  ComparisonAnswer answer = comparison_answer(*comparison);
  answer.other_work = other_work(*first_plan, *second_plan);
  answer.losses = compare_losses(other.steps(), run.steps());
  const bool missed = threshold && std::fabs(comparison->error()) > *threshold / 100;
  return Answered{.code = missed ? ExitCode::kMissed : ExitCode::kDone,
                  .text = json ? to_json(answer) : text_of(*comparison, answer, *first_plan, *second_plan),
                  .said = {}};
}

}  // namespace plimsoll
