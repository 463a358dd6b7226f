#pragma once

#include <exception>
#include <mutex>
#include <vector>

#include "executor/cpu/execute.h"
#include "executor/cpu/run_lanes.h"
#include "executor/cpu/arena.h"
#include "executor/cuda/device.h"
#include "executor/cuda/device_clock.h"
#include "executor/cuda/device_graphs.h"
#include "executor/cuda/device_links.h"
#include "executor/cuda/event_cost.h"
#include "executor/cuda/event_plan.h"
#include "executor/cuda/event_pool.h"
#include "executor/cuda/step_gate.h"
#include "executor/executor.h"

namespace plimsoll {

/// What the runs of one plan on a device share.
struct DeviceQueues {
  Device& device;
  EventPool& events;
  std::vector<StreamId> streams;  ///< by queue; an invalid id where it is the host's
  std::vector<std::byte*> scratch;  ///< by queue; null where it is the host's
  StreamId clock;                   ///< on which nothing else runs
  EventCost event_cost = {};        ///< what events of its own add to a kernel's time, which traces leave out
  DeviceLinks* links = nullptr;     ///< to other ranks' devices, and which of them a queue uses
  std::vector<std::optional<std::uint32_t>> link_of_queue = {};
};

/// The flag that guards an instruction in a step; null where none does.
const std::byte* flag_of(const Program& program, std::uint32_t id, std::int64_t step);

/// Puts one kernel of a program on a stream of the device. `flag`: as Device::launch's.
void launch_on_device(const DeviceQueues& queues, const ExecutionContext& context, std::uint32_t id, std::int64_t step,
                      std::optional<std::int64_t> targets, const std::byte* flag);

/// One segment of steps of a program, on the device and around it. An instruction of the device counts as done for the dispatcher
/// once it is on its stream; the host waits for the device's events where EventPlan says so.
class DeviceRun {
 public:
  /// Steps that are not traced go by `graphs`, which are the program's, or null.
  DeviceRun(const DeviceQueues& queues, const ExecutionContext& context, const RunSegment& segment, std::uint64_t jitter_seed,
            const DeviceGraphs* graphs = nullptr);

  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  /// Blocks until all is done, on the device too.
  LaneRecord run();

 private:
  using HostClock = DeviceClock::HostClock;
  /// What an instruction of the device leaves of one step that is not forgotten yet.
  struct Mark {
    DeviceEventId started, ended;
    bool given = false;
  };

  Outcome carry_out(std::uint32_t id, std::int64_t step);
  Outcome on_device(std::uint32_t id, std::int64_t step);
  /// Of a stretch only the last puts anything on the stream. All before it are counted as given by then, but nobody waits for them.
  Outcome by_graph(std::uint32_t id, std::int64_t step, const DeviceGraphs::Place& place);
  /// Makes the events that steps will ask for before one runs: making one may wait for the device.
  void take_events();
  void wait_on_stream(std::uint32_t id, std::int64_t step, StreamId stream);
  void record_end(std::uint32_t id, std::int64_t step, StreamId stream);
  Outcome on_host(std::uint32_t id, std::int64_t step);
  void give(std::uint32_t id, std::int64_t step);
  void give_exchange(std::uint32_t id, std::int64_t step);
  /// Brings the instruction's flag to the host, in the stream's order.
  void fetch_flag(std::uint32_t id, std::int64_t step, StreamId stream);
  /// Whether the host decides under a guard: no copy engine reads flags, and a library's products neither.
  [[nodiscard]] bool host_reads_flag(const Instruction& instruction) const;
  [[nodiscard]] bool asked_flag(std::uint32_t id, std::int64_t step, StreamId stream);
  void run_host_launch(std::uint32_t id, std::int64_t step);
  /// Has the steps up to `place` read, whose marks are about to be used again.
  void make_room(std::int64_t place);
  void wait_on_host(std::uint32_t id, std::int64_t step);
  /// Reads the times of one step of the segment.
  void harvest(std::int64_t place);
  [[nodiscard]] bool is_traced(std::int64_t step) const { return step >= segment_.first_traced_step; }
  [[nodiscard]] Mark& mark(std::uint32_t id, std::int64_t step);
  [[nodiscard]] std::uint64_t& flag_word(std::uint32_t id, std::int64_t step);
  [[nodiscard]] bool is_on_device(std::uint32_t id) const;
  [[nodiscard]] Nanoseconds now() const;
  void note(TraceEvent event);

  const DeviceQueues& queues_;
  const ExecutionContext& context_;
  const RunSegment& segment_;
  std::uint64_t jitter_seed_;
  const DeviceGraphs* graphs_;
  EventPlan events_;
  std::uint32_t ring_;
  StepGate gate_;
  HostClock::time_point origin_;
  DeviceClock clock_;
  std::vector<std::vector<Mark>> marks_;  ///< by step in the ring, then instruction
  HostArena flags_;                       ///< what guards were, as marks_; pinned
  std::mutex mutex_;                      ///< guards what follows
  std::exception_ptr failure_;            ///< the first
  std::int64_t harvested_ = 0;            ///< steps of the segment whose marks are read
  std::vector<TraceEvent> trace_;
};

}  // namespace plimsoll
