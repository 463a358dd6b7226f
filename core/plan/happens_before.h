#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// Answers "has a ended before b starts, whatever the durations?" for a program fed in id order, by vector clocks.
/// Queues of width 1 are one lane each; a wider queue orders only what its dependencies order, so its instructions are
/// spread over lanes such that each lane is a chain (the first lane whose last instruction is ordered before, else a
/// new one). An instruction's clock holds, for each lane, how far along it everything has ended before the instruction
/// ends.
class HappensBefore {
 public:
  explicit HappensBefore(const Platform& platform);

  /// Adds the next instruction. `dependencies` are positions given by earlier calls. Returns its position (0, 1, …).
  std::uint32_t add(QueueId queue, std::span<const QueueId> members, std::span<const std::uint32_t> dependencies);

  /// The same in pieces, for those who find dependencies while they look at the order: begin, depend …, end.
  /// Between `begin` and `end` the instruction's position is size().
  void begin(QueueId queue, std::span<const QueueId> members);
  void depend(std::uint32_t earlier) { merge(nodes_[earlier]); }
  std::uint32_t end();

  /// True when `earlier` ends before `later` starts in every run. Both must have been added, earlier < later.
  [[nodiscard]] bool ordered(std::uint32_t earlier, std::uint32_t later) const {
    const Node& node = nodes_[later];
    const std::uint32_t lane = nodes_[earlier].lane;
    return lane < node.clock_size && clocks_[node.clock + lane] > earlier;
  }
  /// True when `earlier` ends before the instruction between `begin` and `end` starts, by what is known of it so far.
  [[nodiscard]] bool ordered(std::uint32_t earlier) const {
    const std::uint32_t lane = nodes_[earlier].lane;
    return lane < open_size_ && clocks_[open_clock_ + lane] > earlier;
  }

  [[nodiscard]] std::uint32_t lane(std::uint32_t position) const { return nodes_[position].lane; }
  [[nodiscard]] std::uint32_t lane_count() const { return lane_count_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Makes room for that many instructions.
  void reserve(std::size_t instructions);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  /// Clocks are whole groups of lanes: a loop of fixed length becomes one vector instruction.
  static constexpr std::uint32_t kGroup = 8;

  struct Node {
    std::size_t clock = 0;         ///< where its clock begins
    std::uint32_t clock_size = 0;  ///< a multiple of kGroup; lanes beyond are later than this instruction
    std::uint32_t lane = 0;
  };

  void merge(const Node& earlier);
  void widen(std::uint32_t lanes);
  [[nodiscard]] std::uint32_t chain_lane();

  std::vector<std::int64_t> width_;                     ///< by queue
  std::vector<std::uint32_t> queue_lane_;               ///< lane of a width-1 queue
  std::vector<std::uint32_t> last_;                     ///< by queue of width 1: the newest instruction there
  std::vector<std::vector<std::uint32_t>> wide_lanes_;  ///< by queue: the lanes of a wide one
  std::vector<std::uint32_t> last_in_lane_;
  std::uint32_t lane_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> clocks_;  ///< by lane: 1 + position of the last instruction that has ended, 0 when none
  // The instruction between begin and end.
  QueueId open_queue_;
  std::vector<QueueId> open_members_;
  std::size_t open_clock_ = 0;
  std::uint32_t open_size_ = 0;
};

}  // namespace plimsoll
