#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// Where a cost is from.
enum class CostOrigin : std::uint8_t {
  kMeasured,      ///< timed on this very machine
  kCatalogue,     ///< published efficiencies of this very hardware
  kExtrapolated,  ///< efficiencies of similar hardware
};

/// Duration of one execution with nothing else running: what it adds to the median step, and the interval in which nine
/// of ten are expected.
struct Cost {
  Nanoseconds median;
  Nanoseconds low;
  Nanoseconds high;
  CostOrigin origin = CostOrigin::kExtrapolated;
};

/// Estimates durations. Pure: no clock, no state that an estimate changes; safe to share between threads.
/// A cost that nothing is known about is an error of kind kUncalibrated that names it, never zero.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// One launch of `kernel` on `processor`.
  [[nodiscard]] virtual Result<Cost> kernel(const Processor& processor, const Kernel& kernel) const = 0;
  /// One transfer of `bytes` along `link` with the link to itself, latency included.
  [[nodiscard]] virtual Result<Cost> transfer(const Platform& platform, const Link& link, Bytes bytes) const = 0;
  /// One piece of host work that touches `bytes`.
  [[nodiscard]] virtual Result<Cost> host_work(const Processor& processor, HostTask task, Bytes bytes) const = 0;
  /// What the platform's interpreter spends to issue an instruction on this kind of queue.
  [[nodiscard]] virtual Nanoseconds issue_overhead(const Platform& platform, QueueKind queue) const = 0;
  /// "catalogue: published efficiencies", "calibrated on 812 samples of this machine": for people.
  [[nodiscard]] virtual std::string source() const = 0;
  /// Digests of the plans whose samples the model was made of; empty for a catalogue model.
  [[nodiscard]] virtual std::vector<std::string> sample_plans() const { return {}; }
};

std::string_view to_text(CostOrigin origin);

}  // namespace plimsoll
