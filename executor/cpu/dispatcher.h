#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// One instruction of one step; steps count from 0 at the start of a segment.
struct StepInstruction {
  std::uint32_t step = 0;
  std::uint32_t instruction = 0;

  auto operator<=>(const StepInstruction&) const = default;
};

/// Decides which instruction may start, by the law of plans and nothing else: a queue starts its instructions in order,
/// at most `width` at once, each after its dependencies have ended. Steps follow one another without a barrier.
/// Knows no thread, no clock and no memory; the caller serialises calls. Collectives are the caller's to refuse.
class Dispatcher {
 public:
  /// Keeps references to both arguments. The body's dependencies must be in range (verify_plan says so).
  Dispatcher(const Platform& platform, const FlatBody& body, std::uint32_t steps);

  /// True when the queue's next instruction may start now.
  [[nodiscard]] bool ready(QueueId queue) const;
  /// Starts the queue's next instruction if it may start.
  std::optional<StepInstruction> start(QueueId queue);
  /// Tells that a started instruction has ended (run or skipped).
  void end(StepInstruction done);
  /// True when the queue has started everything it will ever start.
  [[nodiscard]] bool exhausted(QueueId queue) const;

  /// Cuts the segment after the last step that any instruction has started: no step stays half done.
  void stop();

  /// So many more steps may run.
  void extend(std::uint32_t steps) { steps_ += steps; }

  /// Steps all of whose instructions have ended, counted from the first.
  [[nodiscard]] std::uint32_t ended_steps() const { return ended_steps_; }
  /// Steps of the segment, as cut by `stop`.
  [[nodiscard]] std::uint32_t steps() const { return steps_; }

 private:
  struct Lane {
    std::vector<std::uint32_t> order;  ///< its instructions of one step, in id order
    std::size_t next = 0;
    std::uint32_t step = 0;
    std::int64_t running = 0;
    std::int64_t width = 1;
  };
  /// In which steps an instruction has ended. A wide queue may end a later step first; those wait in `beyond`.
  struct Ended {
    std::uint32_t prefix = 0;
    std::vector<std::uint32_t> beyond;

    [[nodiscard]] bool contains(std::uint32_t step) const;
    void add(std::uint32_t step);
  };

  [[nodiscard]] bool satisfied(std::uint32_t instruction, std::uint32_t step) const;
  void count_towards_step(std::uint32_t step);

  const FlatBody& body_;
  std::uint32_t steps_;
  std::uint32_t started_steps_ = 0;  ///< steps that any instruction has started
  std::uint32_t ended_steps_ = 0;
  std::vector<Lane> lanes_;
  std::vector<Ended> ended_;
  std::deque<std::size_t> open_;  ///< instructions still to end, of step ended_steps_ and those after it
};

}  // namespace plimsoll
