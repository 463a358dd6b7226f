#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Another model's estimates, each kernel's asked for once: a search asks for the same few hundred again and again, and
/// a catalogue's takes many times as long to work out as to find. Any thread may ask.
class RememberedCosts final : public CostModel {
 public:
  explicit RememberedCosts(std::shared_ptr<const CostModel> costs) : costs_(std::move(costs)) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override;
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override {
    return costs_->transfer(platform, link, bytes);
  }
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override {
    return costs_->host_work(processor, task, bytes);
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override {
    return costs_->issue_overhead(platform, queue);
  }
  [[nodiscard]] std::string source() const override { return costs_->source(); }
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return costs_->sample_plans(); }

 private:
  using Costs = std::map<Kernel, Cost>;

  std::shared_ptr<const CostModel> costs_;
  mutable std::shared_mutex mutex_;
  mutable std::vector<std::pair<Processor, Costs>> known_;  ///< by processor, alike in every field
};

}  // namespace plimsoll
