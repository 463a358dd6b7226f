#pragma once

#include <map>

#include "sim/cost/cost_model.h"
#include "sim/cost/fit_nonnegative.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// Answers for sizes that were not sampled: per place and kind of work, time = constant + rate · flops + rate · bytes
/// with non-negative coefficients, fitted on the medians of the keys that were; flops and bytes of a CPU kernel are its
/// critical_work. The interval holds all residuals and at
/// least the band of a calibrated machine (with fewer than three keys: of an extrapolation). Origin kExtrapolated: it
/// is measured on this machine, but not this work. A kind without a sample is kUncalibrated.
class RegressionCostModel final : public CostModel {
 public:
  explicit RegressionCostModel(const SampleStatistics& statistics);

  [[nodiscard]] Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const override;
  [[nodiscard]] Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const override;
  [[nodiscard]] Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const override;
  [[nodiscard]] Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return Nanoseconds(0); }
  [[nodiscard]] std::string source() const override;
  [[nodiscard]] std::vector<std::string> sample_plans() const override { return plans_; }

 private:
  struct Fit {
    WorkRates rates;            ///< nanoseconds
    double lowest_ratio = 1.0;  ///< measured ÷ fitted
    double highest_ratio = 1.0;
    std::size_t keys = 0;
  };

  [[nodiscard]] Result<Cost> find(const CostKey& key) const;

  std::map<CostKey, Fit> fits_;  ///< by key without sizes
  std::vector<std::string> plans_;
};

}  // namespace plimsoll
