#pragma once

#include <cstdint>

#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Costs that a person can add up: a kernel takes as many nanoseconds as its shape has rows, a transfer its link's
/// latency plus its bytes at the link's rate, host work one nanosecond a byte; all times `scale`, and `overhead` to
/// issue each.
class FixedCosts : public CostModel {
 public:
  explicit FixedCosts(std::int64_t scale = 1, Nanoseconds overhead = {}) : scale_(scale), overhead_(overhead) {}

  [[nodiscard]] Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    ++lookups;
    return cost(Nanoseconds(kernel.shape.rows));
  }
  [[nodiscard]] Result<Cost> transfer(const Platform&, const Link& link, Bytes bytes) const override {
    ++lookups;
    return cost(link.latency + from_seconds(static_cast<double>(bytes.count) / link.bytes_per_second));
  }
  [[nodiscard]] Result<Cost> host_work(const Processor&, HostTask, Bytes bytes) const override {
    ++lookups;
    return cost(Nanoseconds(bytes.count));
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return overhead_; }
  [[nodiscard]] std::string source() const override { return "fixed"; }
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return {"warm-up"}; }

  mutable int lookups = 0;  ///< how often a cost was asked for

 private:
  [[nodiscard]] Cost cost(Nanoseconds time) const {
    return {.median = time * scale_, .low = time * scale_, .high = time * scale_};
  }

  std::int64_t scale_;
  Nanoseconds overhead_;
};

}  // namespace plimsoll
