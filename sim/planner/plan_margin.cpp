#include "sim/planner/plan_margin.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/planner/rejected_families.h"

namespace plimsoll {
namespace {

Cost scaled(const Cost& cost, double factor) {
  const auto times = [&](Nanoseconds time) { return Nanoseconds(std::llround(static_cast<double>(time.count) * factor)); };
  return {times(cost.median), times(cost.low), times(cost.high), cost.origin};
}

/// Another model's costs, all kernels and host work times one factor, all transfers times another.
class ScaledCosts final : public CostModel {
 public:
  ScaledCosts(const CostModel& costs, double kernels, double links) : costs_(costs), kernels_(kernels), links_(links) {}

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override {
    return costs_.kernel(processor, kernel).map([&](const Cost& cost) { return scaled(cost, kernels_); });
  }
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override {
    return costs_.transfer(platform, link, bytes).map([&](const Cost& cost) { return scaled(cost, links_); });
  }
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override {
    return costs_.host_work(processor, task, bytes).map([&](const Cost& cost) { return scaled(cost, kernels_); });
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const override {
    return costs_.issue_overhead(platform, queue);
  }
  [[nodiscard]] std::string source() const override { return costs_.source(); }

 private:
  const CostModel& costs_;
  double kernels_, links_;
};

std::string corner_text(double kernels, double links, double percent) {
  const auto word = [](double factor) { return factor > 1 ? "slower" : "faster"; };
  return fmt::format("kernels {:g} % {}, links {:g} % {}", percent, word(kernels), percent, word(links));
}

}  // namespace

Result<MarginAnswer> plan_margin(const SearchProblem& problem, const SearchResult& search, double percent) {
  MarginAnswer margin{.percent = percent};
  const double x = percent / 100;
  for (const double kernels : {1 + x, 1 - x}) {
    for (const double links : {1 + x, 1 - x}) {
      const ScaledCosts costs(problem.costs, kernels, links);
      const auto own = predict_step(*search.plan, costs, problem.odds);
      if (!own) return fail(own.error());
      const auto others =
          rejected_families({problem.spec, problem.recipe, problem.platform, costs, problem.evaluation, problem.odds}, search);
      if (!others) return fail(others.error());
      for (const RejectedFamily& other : *others) {
        if (!all_fit(other.needs)) continue;
        const double loss = to_seconds(*own) / to_seconds(other.step) - 1;
        if (loss <= margin.loss && !margin.against.empty()) continue;
        margin.loss = loss;
        margin.against = other.strategy.name;
        margin.where = corner_text(kernels, links, percent);
      }
    }
  }
  for (const SpaceNeed& need : space_needs(*search.plan)) {
    if (static_cast<double>(need.needed.count) * (1 + x) > static_cast<double>(need.usable.count)) margin.fits = false;
  }
  return margin;
}

}  // namespace plimsoll
