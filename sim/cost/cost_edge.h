#pragma once

#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Another model's costs with the median moved to one end of its interval: the optimist and the pessimist of a prediction.
class CostEdge final : public CostModel {
 public:
  enum Edge { kLow, kHigh };

  CostEdge(const CostModel& inner, Edge edge) : inner_(inner), edge_(edge) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override {
    return at_edge(inner_.kernel(processor, kernel));
  }
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override {
    return at_edge(inner_.transfer(platform, link, bytes));
  }
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override {
    return at_edge(inner_.host_work(processor, task, bytes));
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override {
    return inner_.issue_overhead(platform, queue);
  }
  [[nodiscard]] std::string source() const override { return inner_.source(); }
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return inner_.sample_plans(); }

 private:
  [[nodiscard]] Result<Cost> at_edge(Result<Cost> cost) const {
    if (cost) cost->median = edge_ == kLow ? cost->low : cost->high;
    return cost;
  }

  const CostModel& inner_;
  Edge edge_;
};

}  // namespace plimsoll
