#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/recording.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// What a piece of a training step does, as far as a plan and another framework's trace can both say it.
enum class UnitClass : std::uint8_t {
  kProduct,
  kAttention,
  kNorm,
  kElementwise,
  kEmbedding,
  kLoss,
  kUpdate,
  kTransfer,
  kCollective,
  kOther
};
inline constexpr std::size_t kUnitClasses = 10;

/// The part of the step; of kernels without operators around them nobody knows.
enum class UnitPhase : std::uint8_t { kForward, kBackward, kOptimizer, kUnknown };

/// A piece of one step: a layer's operator forward, or its backward as a whole, or an unbroken run of elementwise
/// operators, or of updates.
struct WorkUnit {
  UnitPhase phase = UnitPhase::kUnknown;
  UnitClass sort = UnitClass::kOther;
  std::int64_t layer = -1;  ///< block of the model; −1: none, or nobody knows
  std::string name;         ///< of its first operator
  Nanoseconds time;         ///< of the device where it worked, else of the host
};

/// The units of one step with what else is known of it.
struct UnitStep {
  std::string step;       ///< which: "ProfilerStep#3", "the whole recording"
  Nanoseconds duration;
  std::vector<WorkUnit> units;  ///< in their order
  bool on_device = false;       ///< times are of device work
  bool operators = false;       ///< a framework named its operators; else units are kernels
};

/// Of how many operators of another framework's one of the plan's is the sum.
struct OperatorShares {
  int query_products = 1;   ///< linear layers that make queries, keys and values
  int inner_products = 1;   ///< linear layers that a feed-forward layer begins with
  bool fused_norms = true;  ///< else a norm is written out in elementwise operators
};

/// The units of the prediction's steady step; one that is several operators of the framework's is as many, of equal times.
/// `kernels`: products of a backward pass stay apart, and phases are not told, as in a recording without operators.
UnitStep units_of_plan(const Plan& plan, const Trace& predicted, bool kernels, const OperatorShares& shares = {});

/// The units of the last step that is marked in the recording, of the span between its last two updates where none is
/// marked, else of all of it. Operators of a framework and what they launched, by Kineto's and NVTX's names; Python
/// modules (recorded with their stack) tell the layer.
UnitStep units_of_recording(const Recording& recording);

/// The class of an operator of PyTorch or its backward node, or of a kernel.
UnitClass class_of_operator(std::string_view name);
UnitClass class_of_kernel(std::string_view name);

std::string_view to_text(UnitClass sort);
std::string_view to_text(UnitPhase phase);

/// Puts runs of elementwise units and of updates together, over units of class other (views, casts) between them.
void merge_runs(std::vector<WorkUnit>& units);

}  // namespace plimsoll
