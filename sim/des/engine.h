#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/expand.h"
#include "sim/des/event_queue.h"
#include "sim/des/shared_work.h"
#include "sim/des/simulate.h"
#include "sim/des/work_table.h"

namespace plimsoll {

/// Walks copies of a body through simulated time under the law of plans. One object, one run.
///
/// Only the head of a queue can start, so only heads wait: a head looks at its dependencies in turn and sleeps on the
/// first that has not ended. Each dependency is looked at once, and ending an instruction wakes just the queues that
/// sleep on it.
class Engine {
 public:
  Engine(const Plan& plan, const FlatBody& body, const WorkTable& works, const SimulateOptions& options);

  /// Runs all steps; writes events (if kept) and step summaries into `trace`. Fails with kDefect, naming an
  /// instruction, when nothing can ever start again.
  Result<void> run(Trace& trace);

 private:
  /// A queue: its instructions in order, once per step.
  struct Lane {
    std::uint32_t begin = 0;  ///< into lane_ids_
    std::uint32_t end = 0;
    std::uint32_t next = 0;        ///< position of the head
    std::uint32_t step = 0;        ///< of the head
    std::uint32_t dependency = 0;  ///< how many of the head's dependencies have ended
    std::int64_t running = 0;
    std::int64_t width = 1;
    bool asleep = false;  ///< on a dependency
    std::uint32_t next_sleeper = kNobody;
  };

  static constexpr std::uint32_t kNobody = 0xffffffffu;
  static constexpr std::uint32_t kEnded = 0xfffffffeu;
  enum class Happening : std::uint64_t { kEnd = 0, kStartSharing = 1 };

  void sort_into_lanes(const Plan& plan);
  void advance(std::uint32_t lane);
  bool dependencies_ended(std::uint32_t lane, std::uint32_t instruction);
  void start(std::uint32_t step, std::uint32_t instruction);
  void end(std::uint32_t instance);
  void happen(const PendingEvent& event);
  [[nodiscard]] bool runs(std::uint32_t step, std::uint32_t instruction) const;
  void expect(Nanoseconds when, std::uint32_t instance, Happening what);
  [[nodiscard]] Error stuck() const;

  const FlatBody& body_;
  const WorkTable& works_;
  SimulateOptions options_;
  std::uint32_t per_step_;
  std::vector<std::uint32_t> lane_ids_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t>
      sleepers_;  ///< by instance (step · per_step + id): kEnded, or the first queue asleep on it
  std::vector<Nanoseconds> step_end_;
  EventQueue events_;
  SharedWork shared_;
  std::vector<std::uint32_t> ended_now_;
  std::uint64_t unfinished_ = 0;
  Nanoseconds now_;
  Trace* trace_ = nullptr;
};

}  // namespace plimsoll
