#include <fmt/format.h>

#include <cmath>

#include "executor/cpu/cpu_executor.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/planner/predict.h"
#include "formats/models/resolve_model.h"
#include "tests/gpu/predicted_steps.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_training.h"

// Blocks that the device updates from states that wait elsewhere.
namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 65536);
constexpr std::int64_t kSteps = 6;

/// Of all blocks or some, after and during backward, from host memory and from the drive.
std::vector<Strategy> visiting(std::int64_t blocks) {
  return {{.name = "gradients stay", .optimizer = Tier::kHost, .device_update_blocks = blocks},
          {.name = "streamed", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost,
           .device_update_blocks = blocks},
          {.name = "early", .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true, .device_update_blocks = blocks},
          {.name = "streamed, early", .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost,
           .update_in_backward = true, .device_update_blocks = blocks, .staging_slots = 3},
          {.name = "from the drive", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .device_update_blocks = blocks}};
}

std::vector<double> six_losses(Executor& executor) {
  executor.initialize();
  return losses_of(taken(executor.run_steps({.first_step = 0, .steps = kSteps, .first_traced_step = kSteps / 2}, kCorpus)));
}

void bits(Bench& bench, const Recipe& recipe, const ModelSpec& spec) {
  const Platform machine = machine_of(bench);
  const std::vector<double> expected = six_losses(*executor_on(bench, plan_for(machine, spec, recipe, {})));
  for (const Strategy& strategy : visiting(spec.layers)) {
    const std::vector<double> found = six_losses(*executor_on(bench, plan_for(machine, spec, recipe, strategy)));
    int other = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) other += found[i] == expected[i] ? 0 : 1;
    bench.add(fmt::format("{}, {}, {}", to_text(recipe.optimizer), to_text(recipe.precision), strategy.name), other, other == 0);
  }
}

void device_updates(Bench& bench) {
  Recipe recipe = tiny_recipe();
  recipe.clip = 0.9;  // some steps clip
  const ModelSpec spec = test::small_model(Family::kLlama, 4);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    recipe.precision = precision;
    bits(bench, recipe, spec);
  }
  recipe.precision = Precision::kBf16Mixed;
  recipe.optimizer = OptimizerKind::kMuon;
  bits(bench, recipe, spec);
}

void muon_against_cpu(Bench& bench) {
  Recipe recipe = tiny_recipe();
  recipe.optimizer = OptimizerKind::kMuon;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed}) {
    recipe.precision = precision;
    const ModelSpec spec = test::small_model(Family::kLlama, 2);
    const std::vector<double> expected =
        six_losses(*taken(CpuExecutor::create(taken(lower_to_plan(spec, recipe, tiny_machine(4), {}, {})), {})));
    const std::vector<double> found = six_losses(*executor_on(bench, plan_for(machine_of(bench), spec, recipe, {})));
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] / expected[i] - 1));
    bench.add(std::string(to_text(precision)), worst, worst < 3e-2);
  }
}

/// GPT-2 124M by both rules; what a warm-up of the CPU's updates taught foretells plans whose states come to the device.
void told(Bench& bench) {
  const Platform machine = measured_machine(bench, usual_machine());
  const ModelSpec spec = taken(resolve_model("gpt2"));
  Recipe recipe{.precision = Precision::kBf16Mixed, .micro_batch = 4, .sequence = 1024, .learning_rate = 1e-4};
  const WarmUp memory = learnt_from(bench, plan_for(machine, spec, recipe, warm_up_strategy()), std::make_shared<CatalogueCostModel>());
  Errors errors;
  for (const Strategy& strategy : visiting(spec.layers)) {
    if (strategy.optimizer == Tier::kSsd) continue;
    const Plan plan = plan_for(machine, spec, recipe, strategy);
    const double found = to_seconds(median_step(measured(bench, plan, false), 2));
    const double known = to_seconds(taken(predict_step(plan, *memory.calibration.model)));
    errors.add(known, found);
    bench.add(strategy.name, known / found - 1, std::abs(known / found - 1) <= 0.05,
              fmt::format("measured {:.2f} ms, calibrated {:.2f}", 1e3 * found, 1e3 * known),
              {{"measured_seconds", found}, {"calibrated_seconds", known}});
  }
  bench.add("mean of all", errors.mean(), errors.mean() <= 0.03, errors.words());
  recipe.optimizer = OptimizerKind::kMuon;
  for (const Strategy& strategy : {Strategy{}, visiting(spec.layers)[1]}) {
    const Plan plan = plan_for(machine, spec, recipe, strategy);
    const double found = to_seconds(median_step(measured(bench, plan, false), 2));
    const double guess = to_seconds(taken(predict_step(plan, *memory.calibration.model)));
    bench.add("muon, " + strategy.name, guess / found - 1, true,
              fmt::format("measured {:.2f} ms, told {:.2f}; no bound: its kernel was never measured", 1e3 * found, 1e3 * guess));
  }
}

}  // namespace

std::vector<Check> update_checks() {
  return {{"device-updates", "0 of 6 losses with other bits than the resident plan's", device_updates},
          {"losses-muon", "6 steps within 3e-2 of the CPU's", muon_against_cpu},
          {"device-updates-told", "each plan within 5 %, their mean within 3 %", told, 120}};
}

}  // namespace plimsoll::gpu
