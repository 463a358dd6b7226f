#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/models/resolve_model.h"
#include "session/warm_up.h"
#include "sim/cost/calibrate.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/samples_from_trace.h"
#include "sim/planner/predict.h"
#include "tests/gpu/device_plans.h"
#include "tests/support/tiny_training.h"

// Predicted against measured steps of twelve plans: from the catalogue alone, and after the warm-up's plan was measured.
namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);
constexpr std::int64_t kSteps = 7;

Recipe recipe_of() { return {.precision = Precision::kBf16Mixed, .micro_batch = 4, .sequence = 1024, .learning_rate = 1e-4}; }

Trace measured(const Bench& bench, const Plan& plan, std::int64_t traced_from) {
  const auto executor = executor_on(bench, plan);
  return taken(executor->run_steps({.first_step = 0, .steps = kSteps, .first_traced_step = traced_from}, kCorpus));
}

double median_step(const Trace& trace) {
  std::vector<double> seconds;
  for (std::size_t i = 2; i < trace.steps.size(); ++i) seconds.push_back(to_seconds(trace.steps[i].duration()));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

struct Errors {
  double sum = 0, worst = 0;
  int count = 0;
  void add(double predicted, double found) {
    const double error = std::abs(predicted / found - 1);
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
};

/// What a plan's traced steps tell of costs.
Calibration calibrated_on(const Bench& bench, const Plan& plan, const std::shared_ptr<const CostModel>& catalogue) {
  const Trace trace = measured(bench, plan, 1);
  return calibrate(samples_from_trace(plan, expand(plan, *plan.body("step")), trace), catalogue);
}

/// With bounds: from a warm-up in memory, as a search that is free to choose has it. Noted: from one that is bound to the drive, and from
/// no measurement.
void twelve_plans(Bench& bench) {
  const Platform machine = machine_of(bench);
  const ModelSpec spec = taken(resolve_model("gpt2"));
  const auto catalogue = std::make_shared<CatalogueCostModel>();
  const Calibration memory = calibrated_on(bench, plan_for(machine, spec, recipe_of(), warm_up_strategy()), catalogue);
  const Plan on_drive = taken(cautious_plan({.spec = spec, .recipe = recipe_of(), .machine = machine, .strategy = "offload-optimizer-ssd"}));
  const Calibration drive = calibrated_on(bench, on_drive, catalogue);
  Errors before, after, after_drive;
  for (const Strategy& strategy : strategies()) {
    const Plan plan = plan_for(machine, spec, recipe_of(), strategy);
    const double found = median_step(measured(bench, plan, kSteps));
    const auto told = [&](const CostModel& costs) { return to_seconds(taken(predict_step(plan, costs))); };
    const double guess = told(*catalogue), known = told(*memory.model), known_of_drive = told(*drive.model);
    before.add(guess, found);
    after.add(known, found);
    after_drive.add(known_of_drive, found);
    bench.add(strategy.name, known / found - 1, std::abs(known / found - 1) <= 0.05,
              fmt::format("measured {:.2f} ms, calibrated {:.2f}, on a drive's plan {:.2f}, catalogue {:.2f}", 1e3 * found, 1e3 * known,
                          1e3 * known_of_drive, 1e3 * guess),
              {{"measured_seconds", found}, {"calibrated_seconds", known}, {"drive_seconds", known_of_drive}, {"catalogue_seconds", guess}});
  }
  bench.add("mean of all", after.sum / after.count, after.sum / after.count <= 0.03, fmt::format("worst {:.3f}", after.worst));
  bench.add("mean of all, calibrated on a drive's plan", after_drive.sum / after_drive.count, true, fmt::format("worst {:.3f}; no bound", after_drive.worst));
  bench.add("mean of all, catalogue alone", before.sum / before.count, true, fmt::format("worst {:.3f}; no bound", before.worst));
}

}  // namespace

std::vector<Check> prediction_checks() {
  return {{"predictions", "12 plans of gpt2 within 3 % in the mean, 5 % each, calibrated on the warm-up's plan alone", twelve_plans, 180}};
}

}  // namespace plimsoll::gpu
