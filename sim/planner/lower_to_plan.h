#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/plan/expand.h"
#include "core/plan/plan.h"

namespace plimsoll {

class KnownPackings;
struct GroupSizes;
struct RoomRange;
struct StepOutline;

/// What a plan needs of one memory space against what may be used.
struct SpaceNeed {
  SpaceId space;
  Bytes needed;
  Bytes usable;

  [[nodiscard]] bool fits() const { return needed <= usable; }
};

struct LowerOptions {
  bool evaluation = false;    ///< also write the "evaluation" body
  bool only_if_fits = false;  ///< a plan that cannot fit comes without bodies; its arenas hold lower bounds where they are short
  /// Told of the plan where lower bounds of its arenas, which these hold then, fit.
  std::function<void(const Plan&)> when_bounded = {};
  /// Told of the step before anything has an address, where lower bounds of the arenas fit; with its unplaced_digest.
  std::function<void(const Plan&, const FlatBody&, std::uint64_t digest)> when_written = {};
  /// Asked about the step's instructions before anything has an address; where it says no the plan comes without bodies, and
  /// its arenas hold lower bounds.
  std::function<bool(const Plan&, const FlatBody&)> worth_placing = {};
  /// Then asked whether what follows from a step's unplaced_digest is known; where it is, the same.
  std::function<bool(std::uint64_t digest)> is_known = {};
  RoomRange* placed_for = nullptr;  ///< takes the host memories for which addresses come out the same, where there are any
  FlatBody* flat_step = nullptr;  ///< takes the step's instructions, and the plan comes without bodies: for who only times it
  bool arenas_only = false;       ///< the plan comes without bodies: for who asks what it needs of each memory
  /// Addresses by the greedy packing alone, even where these come out higher than may be used and the exact one might find
  /// lower ones: for who looks at many strategies.
  bool quick_addresses = false;
  bool nameless = false;                           ///< buffers come without names: for who looks at many strategies
  const std::vector<GroupSizes>* sizes = nullptr;  ///< of `graph` (state_sizes); nothing: they are counted
  KnownPackings* packings = nullptr;  ///< of a search; nothing: none are known
  const StepOutline* outline = nullptr;            ///< of `graph`; nothing: it is found
  /// Nothing has an address and the plan comes without bodies; its arenas hold lower bounds. What is asked of a step is not
  /// asked then.
  bool bounds_only = false;
  const Graph* graph = nullptr;   ///< of this model, recipe and platform (graph_on), where it is known; nothing: it is built
};

/// The step's graph as lower_to_plan builds it, for who lowers many strategies; nothing where the platform computes nowhere.
std::shared_ptr<const Graph> graph_on(const ModelSpec& spec, const Recipe& recipe, const Platform& platform);

/// Whether lower_to_plan takes the strategy; why not.
Result<void> check_lowerable(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                             const Strategy& strategy);

/// Decides every instruction, buffer and address of a training step. The plan may need more memory than there is: see
/// `space_needs`. Fails when the platform lacks a space, queue or link that the strategy asks for, naming it.
Result<Plan> lower_to_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const Strategy& strategy,
                           const LowerOptions& options = {});

/// Arena heights against usable bytes, one entry for each space of the platform.
std::vector<SpaceNeed> space_needs(const Plan& plan);

bool all_fit(const std::vector<SpaceNeed>& needs);

}  // namespace plimsoll
