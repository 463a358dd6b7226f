#pragma once

#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Another model's costs with what an inference adds to them: what goes to or from pageable host memory (kLoadTokens stands for
/// it) passes through the hands of a CPU thread. A program's own work on that thread takes a
/// nanosecond a byte (kReportLoss stands for it).
class InferenceCosts final : public CostModel {
 public:
  InferenceCosts(const CostModel& inner, const Platform& platform);

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override;
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override;
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override;
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override;
  [[nodiscard]] std::string source() const override { return inner_.source(); }
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return inner_.sample_plans(); }

 private:
  const CostModel& inner_;
  double pageable_rate_ = 0;  ///< bytes a second
};

/// The platform with a rate of its CPU's products, where none is known: cores times what one core is assumed to do.
Platform with_cpu_rate(Platform platform);

}  // namespace plimsoll
