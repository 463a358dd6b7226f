#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "executor/cpu/arena.h"
#include "executor/cuda/device.h"

namespace plimsoll::test {

/// A device on the host that does as little as it may: work waits on its stream until somebody waits for it, and then only what
/// stands before it is done. What nothing orders comes too late, so a missing event shows as other numbers. With a seed, some
/// other work is done in between, which shows what comes too early.
///
/// What CUDA would refuse, or do without a word, is a logic_error here: operands of a kernel that are not in the device's memory; a
/// wait for an event that was never recorded; waiting, reserving, pinning or a first use of a kernel while a graph is captured, as
/// that may load code. A first use is of a kernel with operands of these accesses and alignments: what a library chooses by.
class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(Bytes memory, std::uint64_t seed = 0) : capacity_(memory), random_(seed), eager_(seed != 0) {}

  [[nodiscard]] DeviceInfo info() const override;
  std::byte* reserve(Bytes bytes) override;
  void release(std::byte* memory) override;
  std::byte* resize(std::byte* memory, Bytes held, Bytes wanted) override;
  void pin(std::span<std::byte> memory) override;
  void unpin(std::span<std::byte> memory) override;
  /// Throws where `refuse_direct_storage` was said.
  void prepare_direct_storage() override;
  /// Moves bytes when it is asked to, whatever waits on streams. What is not registered, or not whole blocks, is a logic_error.
  std::unique_ptr<BlockIo> open_direct_io(const DriveFile& file, std::span<const std::span<std::byte>> memory) override;
  void refuse_direct_storage() { refuses_direct_storage_ = true; }
  StreamId add_stream() override;
  DeviceEventId add_event() override;
  void copy(StreamId stream, std::byte* to, const std::byte* from, Bytes bytes) override;
  void fill(StreamId stream, std::byte* memory, std::byte value, Bytes bytes) override;
  void launch(StreamId stream, const cuda::DeviceLaunch& launch, const std::byte* flag) override;
  DeviceGraphId capture(StreamId stream, const std::function<void()>& work) override;
  void run(StreamId stream, DeviceGraphId graph) override;
  void record(StreamId stream, DeviceEventId event) override;
  void wait(StreamId stream, DeviceEventId event) override;
  void synchronize(DeviceEventId event) override;
  void synchronize() override;
  [[nodiscard]] void* native_stream(StreamId) const override { return nullptr; }
  [[nodiscard]] Nanoseconds between(DeviceEventId from, DeviceEventId to) const override;

  /// Work that cannot be done before `ready` says so, as a message from elsewhere; it is asked when the work's turn has come,
  /// under the device's lock. Meanwhile other streams go on.
  void put_when_ready(StreamId stream, std::function<bool()> ready, std::function<void()> work);

  /// Events that streams were told to wait for.
  [[nodiscard]] std::int64_t waits() const { return waits_; }
  /// Graphs that were put on streams.
  [[nodiscard]] std::int64_t graph_runs() const { return graph_runs_; }
  [[nodiscard]] Bytes reserved() const { return reserved_; }
  [[nodiscard]] std::size_t pinned() const { return pinned_.size(); }
  /// Kernels that were used, each with operands of other accesses or alignments once more.
  [[nodiscard]] std::size_t kernels_used() const { return used_.size(); }
  /// Copies from or to host memory that is not pinned, which block whoever gives them.
  [[nodiscard]] std::int64_t blocking_copies() const { return blocking_copies_; }
  /// Bytes that passed between files and the device's memory without the host's.
  [[nodiscard]] std::int64_t direct_bytes() const { return direct_bytes_; }
  /// Events that were ever made.
  [[nodiscard]] std::size_t events() const { return events_.size(); }

 private:
  /// A record (of which the event has had so many), a wait for one, or other work.
  struct Task {
    std::function<void()> work;
    DeviceEventId waits_for, records;
    std::uint64_t count = 0;
    std::function<bool()> ready = {};
  };
  struct Stream {
    std::deque<Task> tasks;
    std::uint64_t done = 0;
  };
  struct Event {
    StreamId stream;
    std::uint64_t given = 0, reached = 0;
    Nanoseconds time;
  };

  using Used = std::tuple<Kernel, std::vector<std::pair<Access, std::size_t>>>;

  void push(StreamId stream, Task task);
  /// A logic_error where an open way to a drive leads to that memory.
  void refuse_while_reached(const std::byte* memory) const;
  /// Whether all of these bytes are reserved ones of the device; or pinned ones of the host.
  [[nodiscard]] bool is_own(const std::byte* first, Bytes bytes) const;
  [[nodiscard]] bool is_pinned(const std::byte* first, Bytes bytes) const;
  void check_launch(const cuda::DeviceLaunch& launch);
  void refuse_in_capture(const char* what) const;
  /// Does the stream's first task, and before it what that waits for.
  void advance(StreamId stream);
  void reach(DeviceEventId event, std::uint64_t count);
  /// Whether its first task waits for nothing.
  [[nodiscard]] bool can_advance(const Stream& stream) const;
  /// While a stream cannot go on: another does, or other threads have their turn.
  void do_other_work();
  void wander();

  mutable std::mutex mutex_;
  Bytes capacity_, reserved_;
  std::mt19937_64 random_;
  bool eager_;
  std::int64_t waits_ = 0, graph_runs_ = 0, blocking_copies_ = 0;
  bool refuses_direct_storage_ = false, direct_ = false;
  std::atomic<std::int64_t> direct_bytes_{0};
  std::vector<std::pair<std::weak_ptr<int>, std::vector<std::span<std::byte>>>> ways_;  ///< what drives reach as long as it lives
  StreamId capturing_;  ///< whose work goes into the newest graph
  std::deque<std::vector<Task>> graphs_;
  std::map<std::byte*, std::unique_ptr<HostArena>> memory_;
  std::map<std::byte*, std::size_t> pinned_;
  std::set<Used> used_;
  std::deque<Stream> streams_;
  std::deque<Event> events_;
};

}  // namespace plimsoll::test
