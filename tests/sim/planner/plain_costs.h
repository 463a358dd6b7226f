#pragma once

#include "core/graph/op_work.h"
#include "sim/cost/cost_model.h"

namespace plimsoll::test {

/// Ten nanoseconds a kernel and one for each thousand operations; links at their rate.
class PlainCosts final : public CostModel {
 public:
  Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    return exact(10 + static_cast<std::int64_t>(flops_of(kernel.kind, kernel.shape) / 1000));
  }
  Result<Cost> transfer(const Platform&, const Link& link, Bytes bytes) const override {
    return exact(link.latency.count + static_cast<std::int64_t>(1e9 * static_cast<double>(bytes.count) / link.bytes_per_second));
  }
  Result<Cost> host_work(const Processor&, HostTask, Bytes) const override { return exact(1000); }
  Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return Nanoseconds(0); }
  std::string source() const override { return "plain"; }

 private:
  static Cost exact(std::int64_t ns) { return {Nanoseconds(ns), Nanoseconds(ns), Nanoseconds(ns), CostOrigin::kMeasured}; }
};

}  // namespace plimsoll::test
