#pragma once

#include "sim/cost/cost_model.h"
#include "sim/cost/fused_attention.h"

namespace plimsoll {

/// Costs of machines that nobody measured here. A GPU kernel takes a start-up time and then the longer of its
/// arithmetic at the share of the nominal rate that such kernels reach, and its traffic at the share of nominal
/// bandwidth (roofline); a CPU kernel likewise, with conservative shares and the optimizer bound by DRAM. All shares
/// stand in data/calibration. The processor's calibration name picks the GPU; an unknown one gets the shares of similar
/// boards. Costs of boards with rows of their own are kCatalogue, all others kExtrapolated.
class CatalogueCostModel final : public CostModel {
 public:
  /// A source that says whose attention it runs is told with that in place of our own.
  explicit CatalogueCostModel(FusedAttention attention = FusedAttention::kOwn) : attention_(attention) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override;
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override;
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override;
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override;
  [[nodiscard]] std::string source() const override;

 private:
  FusedAttention attention_;
};

}  // namespace plimsoll
