#pragma once

#include "gui/jobs/latest_job.h"
#include "sim/cost/cost_model.h"

namespace plimsoll::gui {

/// Another model's costs, until the work that asks is not wanted any more: then every answer is an error of kind
/// kInterrupted, which ends a search or a simulation at once. Both outlive it.
class StoppableCosts final : public CostModel {
 public:
  StoppableCosts(const CostModel& costs, Stop stop) : costs_(costs), stop_(std::move(stop)) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override {
    return stopped() ? interrupted() : costs_.kernel(processor, kernel);
  }
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override {
    return stopped() ? interrupted() : costs_.transfer(platform, link, bytes);
  }
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override {
    return stopped() ? interrupted() : costs_.host_work(processor, task, bytes);
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override {
    return costs_.issue_overhead(platform, queue);
  }
  [[nodiscard]] std::string source() const override { return costs_.source(); }
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return costs_.sample_plans(); }

 private:
  [[nodiscard]] bool stopped() const { return stop_->load(std::memory_order_relaxed); }
  static Result<Cost> interrupted() { return fail({.kind = ErrorKind::kInterrupted, .what = "not wanted any more"}); }

  const CostModel& costs_;
  Stop stop_;
};

}  // namespace plimsoll::gui
