#include "sim/cost/remembered_costs.h"

#include <algorithm>
#include <mutex>
#include <tuple>

namespace plimsoll {
namespace {

/// Named one by one, so that a processor with one more does not compile.
auto fields_of(const Processor& processor) {
  const auto& [name, kind, space, cores, bytes, fp32, fp16, bf16, tf32, calibration] = processor;
  return std::tie(name, kind, space, cores, bytes, fp32, fp16, bf16, tf32, calibration);
}

}  // namespace

/// What is unknown is not remembered: it ends whatever asks.
Result<Cost> RememberedCosts::kernel(const Processor& processor, const Kernel& kernel) const {
  const auto of_processor = [&](const auto& one) { return fields_of(one.first) == fields_of(processor); };
  {
    const std::shared_lock lock(mutex_);
    const auto known = std::find_if(known_.begin(), known_.end(), of_processor);
    if (known != known_.end()) {
      const auto cost = known->second.find(kernel);
      if (cost != known->second.end()) return cost->second;
    }
  }
  const Result<Cost> cost = costs_->kernel(processor, kernel);
  if (!cost) return cost;
  const std::unique_lock lock(mutex_);
  auto known = std::find_if(known_.begin(), known_.end(), of_processor);
  if (known == known_.end()) known = known_.insert(known_.end(), {processor, {}});
  known->second.emplace(kernel, *cost);
  return cost;
}

}  // namespace plimsoll
