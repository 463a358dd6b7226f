#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Another model with every kernel `factor` times as long: for runs in which waits stand for kernels.
class StretchedCostModel final : public CostModel {
 public:
  StretchedCostModel(std::shared_ptr<const CostModel> inner, double factor) : inner_(std::move(inner)), factor_(factor) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override {
    auto cost = inner_->kernel(processor, kernel);
    if (!cost) return cost;
    for (Nanoseconds* time : {&cost->median, &cost->low, &cost->high})
      *time = Nanoseconds(std::llround(static_cast<double>(time->count) * factor_));
    return cost;
  }
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override {
    return inner_->transfer(platform, link, bytes);
  }
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override {
    return inner_->host_work(processor, task, bytes);
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override {
    return inner_->issue_overhead(platform, queue);
  }
  [[nodiscard]] std::string source() const override { return inner_->source() + ", kernels stretched to waits"; }

 private:
  std::shared_ptr<const CostModel> inner_;
  double factor_;
};

}  // namespace plimsoll
