#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// Answers "has a ended before b starts, whatever the durations?" for a program fed in id order, by vector clocks.
/// Each queue of width 1 is a lane: its instructions are a chain. An instruction's clock holds, for each lane, the
/// newest instruction that has ended before it starts (or is itself). A wider queue orders only what its dependencies
/// order, so its instructions are no chain and have no lane; each knows what depends on it directly, and has ended
/// before whatever one of those has ended before. Clocks so are as long as there are width-1 queues, however much a
/// wide queue has open.
class HappensBefore {
 public:
  static constexpr std::uint32_t kNoLane = 0xffffffffu;

  explicit HappensBefore(const Platform& platform);

  /// Adds the next instruction. `dependencies` are positions given by earlier calls. Returns its position (0, 1, …),
  /// which stays below 2³¹.
  std::uint32_t add(QueueId queue, std::span<const QueueId> members, std::span<const std::uint32_t> dependencies);

  /// The same in pieces, for those who find dependencies while they look at the order: begin, depend …, end.
  /// Between `begin` and `end` the instruction's position is size(), and `ordered` knows what is known of it so far.
  void begin(QueueId queue, std::span<const QueueId> members);
  void depend(std::uint32_t earlier);
  std::uint32_t end();

  /// True when `earlier` ends before `later` starts in every run. Both must have been added, earlier < later.
  [[nodiscard]] bool ordered(std::uint32_t earlier, std::uint32_t later) const {
    const std::uint32_t lane = lanes_[earlier];
    return lane != kNoLane ? clock_of(later)[lane] >= ended(earlier) : released(earlier, later);
  }

  /// The width-1 queue's lane, or kNoLane.
  [[nodiscard]] std::uint32_t lane(std::uint32_t position) const { return lanes_[position]; }
  [[nodiscard]] std::size_t size() const { return lanes_.size(); }
  /// Makes room for that many instructions.
  void reserve(std::size_t instructions);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  /// Clocks are whole groups of lanes, and signed, so that merging them is a few vector instructions.
  static constexpr std::uint32_t kGroup = 8;

  struct Dependent {
    std::uint32_t position = 0;
    std::uint32_t lane = kNoLane;
    std::uint32_t next = kNone;
  };

  /// How a clock writes that an instruction has ended; 0 is for none.
  static std::int32_t ended(std::uint32_t position) { return static_cast<std::int32_t>(position) + 1; }
  [[nodiscard]] const std::int32_t* clock_of(std::uint32_t position) const {
    return clocks_.data() + std::size_t{position} * stride_;
  }
  void merge(std::uint32_t earlier);
  void add_dependent(std::uint32_t earlier);
  [[nodiscard]] bool released(std::uint32_t earlier, std::uint32_t later) const;
  [[nodiscard]] bool released_through_others(std::uint32_t earlier, std::uint32_t later) const;
  [[nodiscard]] bool has_ended(const Dependent& dependent, std::uint32_t later) const {
    if (dependent.position == later) return true;
    return dependent.lane != kNoLane && clock_of(later)[dependent.lane] >= ended(dependent.position);
  }

  std::vector<std::uint32_t> queue_lane_;    ///< by queue; kNoLane for wide ones
  std::vector<std::uint32_t> last_in_lane_;  ///< newest instruction, also a collective that occupies it as a member
  std::size_t stride_ = kGroup;              ///< of clocks
  std::vector<std::uint32_t> lanes_;         ///< by position
  std::vector<std::int32_t> clocks_;         ///< by position, then lane; with room for positions to come, all 0
  std::vector<std::uint32_t> dependents_;    ///< by position: list in dependent_pool_, used for those without a lane
  std::vector<Dependent> dependent_pool_;
  // The instruction between begin and end; its members are the caller's and stay until then.
  std::uint32_t open_lane_ = kNoLane;
  std::span<const QueueId> open_members_;
};

}  // namespace plimsoll
