#include "sim/cost/regression_cost_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/platform/cpu_workers.h"
#include "sim/cost/efficiencies.h"
#include "sim/cost/kernel_work.h"

namespace plimsoll {
namespace {

constexpr std::size_t kEnoughKeys = 3;

/// The key of all work of one kind at one place: without sizes.
CostKey family_of(CostKey key) {
  key.kernel.shape = {};
  key.bytes = Bytes(0);
  return key;
}

KernelWork amount_of(const CostKey& key) {
  if (key.subject == CostSubject::kKernel) return critical_work(key.kernel, workers_of(key.place));
  return {.flops = 0, .bytes = static_cast<double>(key.bytes.count)};
}

bool is_arithmetic(const CostKey& key) {
  if (key.subject != CostSubject::kKernel) return false;
  const auto sort = sort_of(key.kernel.kind);
  return sort != KernelSort::kStreaming && sort != KernelSort::kOptimizer;
}

}  // namespace

RegressionCostModel::RegressionCostModel(const SampleStatistics& statistics) : plans_(statistics.plans) {
  std::map<CostKey, std::vector<WorkTime>> families;
  for (const auto& [key, known] : statistics.keys) {
    if (key.subject == CostSubject::kIssue) continue;
    const auto work = amount_of(key);
    families[family_of(key)].push_back({.flops = work.flops, .bytes = work.bytes, .time = known.expected_ns});
  }
  for (const auto& [family, observations] : families) {
    Fit fit{.rates = fit_nonnegative(observations, is_arithmetic(family)), .keys = observations.size()};
    for (const auto& o : observations) {
      const double fitted = fit.rates.time(o.flops, o.bytes);
      if (fitted <= 0) continue;
      fit.lowest_ratio = std::min(fit.lowest_ratio, o.time / fitted);
      fit.highest_ratio = std::max(fit.highest_ratio, o.time / fitted);
    }
    fits_[family] = fit;
  }
}

Result<Cost> RegressionCostModel::find(const CostKey& key) const {
  const auto found = fits_.find(family_of(key));
  const auto work = amount_of(key);
  const double ns = found == fits_.end() ? 0.0 : found->second.rates.time(work.flops, work.bytes);
  if (ns <= 0) {
    return fail({.kind = ErrorKind::kUncalibrated,
                 .what = fmt::format("nothing of the kind was measured: {}", to_text(key)),
                 .where = {},
                 .remedy = "calibrate with a run that contains it"});
  }
  const auto& fit = found->second;
  const auto band = fit.keys < kEnoughKeys ? CostOrigin::kExtrapolated : CostOrigin::kMeasured;
  Cost cost = cost_of(ns * 1e-9, band);
  cost.low = std::min(cost.low, cost_of(ns * 1e-9 * fit.lowest_ratio, band).median);
  cost.high = std::max(cost.high, cost_of(ns * 1e-9 * fit.highest_ratio, band).median);
  cost.origin = CostOrigin::kExtrapolated;
  return cost;
}

Result<Cost> RegressionCostModel::kernel(const Processor& processor, const Kernel& kernel) const {
  return find(kernel_key(processor, kernel));
}

Result<Cost> RegressionCostModel::transfer(const Platform& platform, const Link& link, Bytes bytes) const {
  return find(transfer_key(platform, link, bytes));
}

Result<Cost> RegressionCostModel::host_work(const Processor& processor, HostTask task, Bytes bytes) const {
  return find(host_work_key(processor, task, bytes));
}

std::string RegressionCostModel::source() const {
  return fmt::format("rates fitted for {} kinds of work", fits_.size());
}

}  // namespace plimsoll
