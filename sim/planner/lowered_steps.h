#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "core/plan/expand.h"
#include "sim/planner/buffer_book.h"
#include "sim/planner/known_packings.h"
#include "sim/planner/known_steps.h"
#include "sim/planner/step_outline.h"

namespace plimsoll {

/// What the time of a step follows from beside a machine's rates: its instructions, of which launches have no operands
/// and the others name spaces where a plan's name buffers.
struct BareStep {
  std::vector<Kernel> kernels;
  FlatBody body;

  /// Of a plan's step, which may have no dependencies yet.
  static std::shared_ptr<BareStep> of(const Plan& plan, const FlatBody& body);
  /// Takes those of the same step.
  void order_as(const FlatBody& body);
};

/// A strategy's step before anything has an address.
struct WrittenStep {
  std::vector<Arena> bounds;             ///< of what it needs of each space
  std::uint64_t digest = 0;              ///< unplaced_digest; of no meaning without `step`
  std::shared_ptr<const BareStep> step;  ///< maybe without dependencies; nothing where the bounds alone were too much
};

/// What follows from a digest.
struct PlacedStep {
  std::vector<Arena> arenas;             ///< as the greedy packing comes out
  RoomRange placed_for;                  ///< host memories for which it does so
  std::shared_ptr<const BareStep> step;  ///< with dependencies; nothing where none were looked for
};

/// Steps of one training on machines that are alike but for rates and sizes, each written, placed and ordered once.
/// What a machine makes of them (whether it has room, how long they take) is not remembered, so that an answer is what
/// it would be without. Any thread may ask.
class LoweredSteps {
 public:
  /// `room`: instructions that may still be kept, here and in others that share it.
  LoweredSteps(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
               std::shared_ptr<std::atomic<std::int64_t>> room);

  /// The step's graph (graph_on), built when somebody asks first.
  std::shared_ptr<const Graph> graph();
  /// Of that graph; nothing where there is none.
  std::shared_ptr<const StepOutline> outline();

  [[nodiscard]] std::optional<WrittenStep> written(const Strategy& strategy, const Platform& platform) const;
  [[nodiscard]] std::optional<PlacedStep> placed(const Strategy& strategy, const Platform& platform,
                                                 std::uint64_t digest) const;
  /// `placed` may share its step with `written`. Without room for it the steps are left out.
  void keep(const Strategy& strategy, const Platform& platform, WrittenStep written, std::optional<PlacedStep> placed);

 private:
  /// A strategy's choices, and the drive's queues and which ways lead from it to the device and back where it uses one.
  using Choices = std::array<std::int64_t, 22>;
  /// A digest; how wide the drive's queues are, where it has a part in it.
  using Placement = std::tuple<std::uint64_t, std::int64_t, std::int64_t>;

  static Choices choices_of(const Strategy& strategy, const Platform& platform);
  static Placement placement_of(const Strategy& strategy, const Platform& platform, std::uint64_t digest);
  bool takes_room(const BareStep& step);

  ModelSpec spec_;
  Recipe recipe_;
  Platform platform_;
  std::shared_ptr<std::atomic<std::int64_t>> room_;
  std::once_flag built_;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const StepOutline> outline_;
  mutable std::mutex mutex_;
  std::map<Choices, WrittenStep> written_;
  std::map<Placement, std::vector<PlacedStep>> placed_;  ///< for host memories that differ in what they come to
};

/// The steps of all searches of one command, for searches of machines that differ little.
class SharedSteps {
 public:
  /// Those of that training on machines like that one; nothing where a step has no places on it.
  std::shared_ptr<LoweredSteps> of(const ModelSpec& spec, const Recipe& recipe, const Platform& platform);
  [[nodiscard]] const std::shared_ptr<KnownPackings>& packings() const { return packings_; }

 private:
  struct Known {
    ModelSpec spec;
    Recipe recipe;
    std::vector<std::int64_t> places;
    std::shared_ptr<LoweredSteps> steps;
  };

  static constexpr std::int64_t kMostInstructions = 4'000'000;  ///< some 100 bytes each
  std::shared_ptr<std::atomic<std::int64_t>> room_ = std::make_shared<std::atomic<std::int64_t>>(kMostInstructions);
  std::shared_ptr<KnownPackings> packings_ = std::make_shared<KnownPackings>();
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace plimsoll
