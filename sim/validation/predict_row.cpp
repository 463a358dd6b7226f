#include "sim/validation/predict_row.h"

#include <fmt/format.h>

#include "formats/machines/catalogue_platform.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {
namespace {

/// Strategies of a search are counted, not timed; this many instructions find what a longer search finds within a few percent.
constexpr std::size_t kRowBudget = 60'000;

MachineOptions options_of(const StackSetup& setup) {
  MachineOptions options{.ram = setup.host_memory, .device_memory = setup.device_memory};
  if (setup.dram_gbs > 0) options.dram_gbs = setup.dram_gbs;
  if (setup.drive_read_gbs > 0) {
    options.ssd = kGiB * 1024 * 64;
    const auto drives = static_cast<double>(setup.drives);
    options.ssd_read_gbs = setup.drive_read_gbs / drives;
    options.ssd_write_gbs = setup.drive_write_gbs / drives;
    options.ssd_count = static_cast<int>(setup.drives);
    if (setup.drive_uplink_gbs > 0) options.ssd_uplink_gbs = setup.drive_uplink_gbs;
  }
  if (setup.host_cores > 0) options.cpu_cores = static_cast<int>(setup.host_cores);
  options.desktop = setup.desktop;
  options.os = setup.os;
  return options;
}

/// A machine, and what its kernels cost.
struct Workplace {
  const Platform& platform;
  CatalogueCostModel costs;
};

Result<SearchResult> searched(const ModelSpec& spec, const Recipe& recipe, const Workplace& at, SearchOptions options) {
  options.instruction_budget = kRowBudget;
  return search_plan(spec, recipe, at.platform, at.costs, options);
}

/// Seconds that one more micro-batch adds to the plan's step.
Result<double> further_micro_batch(const ModelSpec& spec, Recipe recipe, const Workplace& at, const SearchResult& found) {
  if (recipe.accumulate < 2) return to_seconds(found.prediction->step);
  const std::int64_t whole = recipe.accumulate;
  recipe.accumulate = whole / 2;
  const auto half = searched(spec, recipe, at, {.exact = found.plan->strategy, .refine = false});
  if (!half) return fail(half.error());
  if (!half->prediction) return to_seconds(found.prediction->step) / static_cast<double>(whole);
  return to_seconds(found.prediction->step - half->prediction->step) / static_cast<double>(whole - recipe.accumulate);
}

Result<StackPrediction> predict_own(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  const auto machine = gpu_platform(gpu, options_of(setup));
  if (!machine) return fail(machine.error());
  const Platform& platform = machine->platform;
  const Workplace at{.platform = platform, .costs = CatalogueCostModel(setup.flash3 ? FusedAttention::kFlash3 : FusedAttention::kFlash)};
  const auto found = searched(spec, recipe, at, {.strategy = setup.strategy, .exact = setup.plan, .refine = false});
  if (!found) return fail(found.error());
  StackPrediction prediction;
  prediction.fits = found->plan.has_value();
  prediction.certain = true;
  if (!prediction.fits) return prediction;
  prediction.usable = platform.at(*platform.space(SpaceKind::kDevice)).usable;
  prediction.peak.allocated = prediction.peak.reserved = found->plan->arena_bytes(*platform.space(SpaceKind::kDevice));
  prediction.host = found->plan->arena_bytes(*platform.space(SpaceKind::kHost));
  const auto further = further_micro_batch(spec, recipe, at, *found);
  if (!further) return fail(further.error());
  StackTime& time = prediction.time;
  time.step = to_seconds(found->prediction->step);
  time.low = to_seconds(found->prediction->low);
  time.high = to_seconds(found->prediction->high);
  time.forward = *further * static_cast<double>(recipe.accumulate);
  prediction.assumptions.push_back(fmt::format("strategy {}", describe(found->plan->strategy)));
  return prediction;
}

}  // namespace

Result<StackPrediction> predict_row(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (setup.stack != Stack::kPlimsoll) return predict_stack(spec, recipe, setup, gpu);
  return predict_own(spec, recipe, setup, gpu);
}

}  // namespace plimsoll
