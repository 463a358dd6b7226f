#include <chrono>
#include <thread>

#include "formats/models/resolve_model.h"
#include "session/probe/adam_load.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/planner/predict.h"
#include "sim/planner/search_plan.h"
#include "tests/gpu/predicted_steps.h"

// Predicted against measured steps of twelve plans: from the catalogue alone, and after the warm-up's plan was measured.
namespace plimsoll::gpu {
namespace {

Recipe recipe_of() { return {.precision = Precision::kBf16Mixed, .micro_batch = 4, .sequence = 1024, .learning_rate = 1e-4}; }

/// With bounds: from a warm-up in memory, as a search that is free to choose has it. Noted: from one that is bound to the drive, and from
/// no measurement.
void twelve_plans(Bench& bench) {
  const Platform machine = measured_machine(bench, usual_machine());
  const ModelSpec spec = taken(resolve_model("gpt2"));
  const auto catalogue = std::make_shared<CatalogueCostModel>();
  const WarmUp memory = learnt_from(bench, plan_for(machine, spec, recipe_of(), warm_up_strategy()), catalogue);
  const Plan on_drive = taken(cautious_plan({.spec = spec, .recipe = recipe_of(), .machine = machine, .strategy = "offload-optimizer-ssd"}));
  const WarmUp drive = learnt_from(bench, on_drive, catalogue);
  Errors before, after, after_drive;
  for (const Strategy& strategy : strategies()) {
    const Plan plan = plan_for(machine, spec, recipe_of(), strategy);
    const double found = to_seconds(median_step(measured(bench, plan, false), 2));
    const auto told = [&](const CostModel& costs) { return to_seconds(taken(predict_step(plan, costs))); };
    const double guess = told(*catalogue), known = told(*memory.calibration.model), known_of_drive = told(*drive.calibration.model);
    before.add(guess, found);
    after.add(known, found);
    after_drive.add(known_of_drive, found);
    bench.add(strategy.name, known / found - 1, std::abs(known / found - 1) <= 0.05,
              fmt::format("measured {:.2f} ms, calibrated {:.2f}, on a drive's plan {:.2f}, catalogue {:.2f}", 1e3 * found, 1e3 * known,
                          1e3 * known_of_drive, 1e3 * guess),
              {{"measured_seconds", found}, {"calibrated_seconds", known}, {"drive_seconds", known_of_drive}, {"catalogue_seconds", guess}});
  }
  bench.add("mean of all", after.mean(), after.mean() <= 0.03, after.words());
  bench.add("mean of all, calibrated on a drive's plan", after_drive.mean(), true, after_drive.words() + "; no bound");
  bench.add("mean of all, catalogue alone", before.mean(), true, before.words() + "; no bound");
}

/// Families of ours and published systems, each as the search plans it for this machine.
constexpr const char* kFamilies[] = {"stream",        "offload-optimizer", "offload-optimizer-overlapped", "zero-offload", "twin-flow", "zero-3-offload",
                                     "gemini-static", "gemini",            "megatrain",                    "superoffload", "l2l",       "geeps"};

/// This computer, with all of its cores, as plimsoll run takes it; no drive.
MachineOptions capped_machine(Bytes cap) {
  return {.ram = 64 * kGiB, .device_memory = cap, .cpu_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()))};
}

/// Bytes a second of the CPU's Adam alone, for a fifth of a second: what others on the same memory leave of it.
double adam_now(AdamLoad& adam) {
  adam.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return adam.stop();
}

/// 1.5 billion parameters in 5.4 GiB of device memory.
void twelve_large_plans(Bench& bench) {
  const Platform machine = measured_machine(bench, capped_machine(Bytes(static_cast<std::int64_t>(5.4 * static_cast<double>(kGiB.count)))));
  const ModelSpec spec = taken(resolve_model("gpt2-xl"));
  const auto catalogue = std::make_shared<CatalogueCostModel>();
  const WarmUp known = learnt_from(bench, plan_for(machine, spec, recipe_of(), warm_up_strategy()), catalogue);
  bench.add("warm-up", 1e3 * to_seconds(median_step(known.trace, 2)), true, fmt::format("ms; {:.0f} % of its steps were clipped", 100 * known.odds.clips));
  AdamLoad adam(std::max(1u, std::thread::hardware_concurrency()));
  Errors errors;
  for (const char* const family : kFamilies) {
    const SearchResult search = taken(search_plan(spec, recipe_of(), machine, *known.calibration.model, {.strategy = family, .odds = known.odds}));
    if (!search.plan) throw std::runtime_error(fmt::format("{} does not fit", family));
    const double rate = adam_now(adam);
    const double told = to_seconds(search.prediction->step), found = to_seconds(median_step(measured(bench, *search.plan, false), 2));
    errors.add(told, found);
    bench.add(family, told / found - 1, std::abs(told / found - 1) <= 0.05,
              fmt::format("measured {:.1f} ms, predicted {:.1f}; the CPU's Adam alone just before: {:.0f} GB/s", 1e3 * found, 1e3 * told, rate / 1e9),
              {{"measured_seconds", found}, {"calibrated_seconds", told}, {"adam_bytes_per_second", rate}});
  }
  bench.add("mean of all", errors.mean(), errors.mean() <= 0.03, errors.words());
}

}  // namespace

std::vector<Check> prediction_checks() {
  return {{"predictions", "12 plans of gpt2 within 3 % in the mean, 5 % each, calibrated on the warm-up's plan alone", twelve_plans, 180},
          {"predictions-capped", "12 plans of gpt2-xl in 5.4 GiB within 3 % in the mean, 5 % each, calibrated on the warm-up's plan alone",
           twelve_large_plans, 240}};
}

}  // namespace plimsoll::gpu
