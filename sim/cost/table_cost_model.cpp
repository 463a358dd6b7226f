#include "sim/cost/table_cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/cost/efficiencies.h"

namespace plimsoll {
namespace {

// From so many samples on, a key's own 5–95 % spread says more than the band of a calibrated machine.
constexpr std::size_t kOwnSpread = 8;

Nanoseconds whole(double ns) { return Nanoseconds(std::max<std::int64_t>(1, std::llround(ns))); }

}  // namespace

Result<Cost> TableCostModel::find(const CostKey& key) const {
  const auto found = statistics_.keys.find(key);
  if (found == statistics_.keys.end()) {
    return fail({.kind = ErrorKind::kUncalibrated,
                 .what = fmt::format("never measured: {}", to_text(key)),
                 .where = {},
                 .remedy = "calibrate with a run that contains it"});
  }
  const auto& known = found->second;
  Cost cost = cost_of(known.expected_ns * 1e-9, CostOrigin::kMeasured);
  cost.median = whole(known.expected_ns);
  const bool own = known.samples >= kOwnSpread;
  cost.low = std::min(cost.median, own ? whole(known.low_ns) : std::min(cost.low, whole(known.low_ns)));
  cost.high = std::max(cost.median, own ? whole(known.high_ns) : std::max(cost.high, whole(known.high_ns)));
  return cost;
}

Result<Cost> TableCostModel::kernel(const Processor& processor, const Kernel& kernel) const {
  return find(kernel_key(processor, kernel));
}

Result<Cost> TableCostModel::transfer(const Platform& platform, const Link& link, Bytes bytes) const {
  return find(transfer_key(platform, link, bytes));
}

Result<Cost> TableCostModel::host_work(const Processor& processor, HostTask task, Bytes bytes) const {
  return find(host_work_key(processor, task, bytes));
}

bool TableCostModel::knows_issue(const Platform& platform, QueueKind queue) const {
  return statistics_.keys.contains(issue_key(platform, queue));
}

Nanoseconds TableCostModel::issue_overhead(const Platform& platform, QueueKind queue) const {
  const auto found = statistics_.keys.find(issue_key(platform, queue));
  return found == statistics_.keys.end() ? Nanoseconds(0) : Nanoseconds(std::llround(found->second.expected_ns));
}

std::string TableCostModel::source() const {
  const auto& count = statistics_.count;
  return fmt::format("{} samples of {} costs ({} warm-up left out, {} contended, {} outliers)", count.samples,
                     count.keys, count.warm_up, count.contended, count.outliers);
}

}  // namespace plimsoll
