#pragma once

#include "sim/cost/cost_model.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// Answers with the median of the samples of exactly this key, and their 5–95 % spread (a key of few samples: at least
/// the band of a calibrated machine). Any other key is kUncalibrated.
class TableCostModel final : public CostModel {
 public:
  explicit TableCostModel(SampleStatistics statistics) : statistics_(std::move(statistics)) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override;
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override;
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override;
  /// The median gap that was measured on such queues of this platform, 0 when none was.
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override;
  [[nodiscard]] std::string source() const override;
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return statistics_.plans; }

  /// True when gaps between instructions of such queues of this platform were measured.
  [[nodiscard]] bool knows_issue(const Platform& platform, QueueKind queue) const;

 private:
  [[nodiscard]] Result<Cost> find(const CostKey& key) const;

  SampleStatistics statistics_;
};

}  // namespace plimsoll
