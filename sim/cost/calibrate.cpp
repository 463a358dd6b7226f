#include "sim/cost/calibrate.h"

#include <fmt/format.h>

#include <utility>

#include "sim/cost/regression_cost_model.h"
#include "sim/cost/table_cost_model.h"

namespace plimsoll {
namespace {

class CalibratedCostModel final : public CostModel {
 public:
  CalibratedCostModel(SampleStatistics statistics, std::shared_ptr<const CostModel> fallback)
      : regression_(statistics), table_(std::move(statistics)), fallback_(std::move(fallback)) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override {
    return first([&](const CostModel& model) { return model.kernel(processor, kernel); });
  }
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override {
    return first([&](const CostModel& model) { return model.transfer(platform, link, bytes); });
  }
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override {
    return first([&](const CostModel& model) { return model.host_work(processor, task, bytes); });
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override {
    const CostModel& known = table_.knows_issue(platform, queue) ? static_cast<const CostModel&>(table_) : *fallback_;
    return known.issue_overhead(platform, queue);
  }
  [[nodiscard]] std::string source() const override {
    return fmt::format("calibrated on {}, {}; else {}", table_.source(), regression_.source(), fallback_->source());
  }
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return table_.sample_plans(); }

 private:
  /// The first model's answer that is one; the last one's error otherwise.
  template <typename Ask>
  Result<Cost> first(const Ask& ask) const {
    if (auto cost = ask(table_)) return cost;
    if (auto cost = ask(regression_)) return cost;
    return ask(*fallback_);
  }

  RegressionCostModel regression_;
  TableCostModel table_;
  std::shared_ptr<const CostModel> fallback_;
};

}  // namespace

Calibration calibrate(std::span<const Sample> samples, std::shared_ptr<const CostModel> fallback) {
  return calibrate(summarize_samples(samples), std::move(fallback));
}

Calibration calibrate(SampleStatistics statistics, std::shared_ptr<const CostModel> fallback) {
  const SampleCount count = statistics.count;
  return {.model = std::make_shared<CalibratedCostModel>(std::move(statistics), std::move(fallback)), .count = count};
}

}  // namespace plimsoll
