#include "tests/executor/cuda/emulated_device.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/plan/plan.h"
#include "tests/executor/cuda/emulated_launch.h"

namespace plimsoll::test {

DeviceInfo EmulatedDevice::info() const {
  const std::scoped_lock lock(mutex_);
  return {.name = "emulated device", .major = 0, .minor = 0, .total = capacity_, .free = capacity_ - reserved_,
          .software = "emulated on the host"};
}

void EmulatedDevice::refuse_in_capture(const char* what) const {
  if (capturing_.valid()) throw std::logic_error(std::string("in a capture: ") + what);
}

std::byte* EmulatedDevice::reserve(Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  refuse_in_capture("memory is reserved");
  if (reserved_ + bytes > capacity_) {
    throw DeviceFull({.kind = ErrorKind::kEnvironment, .what = "full", .where = {}, .remedy = {}}, reserved_ + bytes - capacity_);
  }
  reserved_ += bytes;
  auto arena = std::make_unique<HostArena>(bytes);
  std::byte* memory = arena->data();
  memory_[memory] = std::move(arena);
  return memory;
}

void EmulatedDevice::release(std::byte* memory) {
  const std::scoped_lock lock(mutex_);
  refuse_in_capture("memory is given back");
  refuse_while_reached(memory);
  reserved_ -= memory_.at(memory)->size();
  memory_.erase(memory);
}

/// Always to another address, so that whoever keeps the old one is seen.
std::byte* EmulatedDevice::resize(std::byte* memory, Bytes held, Bytes wanted) {
  synchronize();
  const std::scoped_lock lock(mutex_);
  refuse_in_capture("memory is resized");
  refuse_while_reached(memory);
  if (memory_.at(memory)->size() != held) throw std::logic_error("memory has another size than it is said to have");
  const Bytes more = wanted - held;
  if (reserved_ + more > capacity_) {
    throw DeviceFull({.kind = ErrorKind::kEnvironment, .what = "full", .where = {}, .remedy = {}}, reserved_ + more - capacity_);
  }
  reserved_ += more;
  auto arena = std::make_unique<HostArena>(wanted);
  std::byte* const moved = arena->data();
  std::memcpy(moved, memory, static_cast<std::size_t>(std::min(held, wanted).count));
  memory_.erase(memory);
  memory_[moved] = std::move(arena);
  return moved;
}

void EmulatedDevice::pin(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  refuse_in_capture("memory is pinned");
  const auto pages = [](const std::byte* first, std::size_t size) {
    constexpr std::uintptr_t kPage = 4096;
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    return std::pair(address / kPage, (address + size - 1) / kPage);
  };
  if (memory.empty()) throw std::logic_error("nothing is pinned");
  const auto [first, last] = pages(memory.data(), memory.size());
  for (const auto& [begin, size] : pinned_) {
    const auto [other_first, other_last] = pages(begin, size);
    if (first <= other_last && other_first <= last) throw std::logic_error("a page is pinned twice");
  }
  pinned_.emplace(memory.data(), memory.size());
}

void EmulatedDevice::unpin(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  if (pinned_.erase(memory.data()) == 0) throw std::logic_error("was not pinned");
}

namespace {

/// A file and memory of the emulated device.
class EmulatedDirectIo final : public BlockIo {
 public:
  EmulatedDirectIo(const DriveFile& file, std::span<const std::span<std::byte>> memory, std::atomic<std::int64_t>& bytes,
                   std::shared_ptr<int> open)
      : file_(file), memory_(memory.begin(), memory.end()), bytes_(bytes), open_(std::move(open)) {
    if (!file.direct()) throw std::logic_error("a file that goes through the page cache");
  }

  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override {
    check(offset, into.data(), into.size(), look);
    if (::pread(file_.descriptor(), into.data(), into.size(), offset.count) != static_cast<ssize_t>(into.size())) throw std::logic_error("a short read");
  }
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override {
    check(offset, from.data(), from.size(), look);
    if (::pwrite(file_.descriptor(), from.data(), from.size(), offset.count) != static_cast<ssize_t>(from.size())) throw std::logic_error("a short write");
  }
  [[nodiscard]] std::string name() const override { return "an emulated way"; }

 private:
  void check(Bytes offset, const std::byte* data, std::size_t size, const LookAtBytes& look) {
    if (look) throw std::logic_error("nobody can look at a device's bytes");
    const auto block = static_cast<std::uint64_t>(kStorageAlignment.count);
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    if (static_cast<std::uint64_t>(offset.count) % block != 0 || size % block != 0 || address % block != 0) throw std::logic_error("no whole blocks");
    const bool known = std::any_of(memory_.begin(), memory_.end(), [&](const std::span<std::byte>& range) {
      return data >= range.data() && data + size <= range.data() + range.size();
    });
    if (!known) throw std::logic_error("memory that no way leads to");
    bytes_ += static_cast<std::int64_t>(size);
  }

  const DriveFile& file_;
  std::vector<std::span<std::byte>> memory_;
  std::atomic<std::int64_t>& bytes_;
  std::shared_ptr<int> open_;  ///< while this lives
};

}  // namespace

void EmulatedDevice::prepare_direct_storage() {
  if (refuses_direct_storage_) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment, .what = "no way to a drive", .where = {}, .remedy = "leave --direct-storage out"});
  }
  const std::scoped_lock lock(mutex_);
  direct_ = true;
}

std::unique_ptr<BlockIo> EmulatedDevice::open_direct_io(const DriveFile& file, std::span<const std::span<std::byte>> memory) {
  const std::scoped_lock lock(mutex_);
  if (!direct_) throw std::logic_error("direct storage was not prepared");
  for (const std::span<std::byte> range : memory) {
    if (!is_own(range.data(), Bytes(static_cast<std::int64_t>(range.size())))) throw std::logic_error("not the device's memory");
  }
  const auto open = std::make_shared<int>(0);
  std::erase_if(ways_, [](const auto& way) { return way.first.expired(); });
  ways_.emplace_back(open, std::vector<std::span<std::byte>>(memory.begin(), memory.end()));
  return std::make_unique<EmulatedDirectIo>(file, memory, direct_bytes_, open);
}

void EmulatedDevice::refuse_while_reached(const std::byte* memory) const {
  const HostArena& arena = *memory_.at(const_cast<std::byte*>(memory));
  for (const auto& [open, ranges] : ways_) {
    if (open.expired()) continue;
    for (const std::span<std::byte> range : ranges) {
      if (range.data() >= arena.data() && range.data() < arena.data() + arena.size().count) throw std::logic_error("memory goes that a drive may reach");
    }
  }
}

StreamId EmulatedDevice::add_stream() {
  const std::scoped_lock lock(mutex_);
  streams_.emplace_back();
  return StreamId(streams_.size() - 1);
}

DeviceEventId EmulatedDevice::add_event() {
  const std::scoped_lock lock(mutex_);
  events_.emplace_back();
  return DeviceEventId(events_.size() - 1);
}

DeviceGraphId EmulatedDevice::capture(StreamId stream, const std::function<void()>& work) {
  {
    const std::scoped_lock lock(mutex_);
    graphs_.emplace_back();
    capturing_ = stream;
  }
  try {
    work();
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    capturing_ = StreamId();
    throw;
  }
  const std::scoped_lock lock(mutex_);
  capturing_ = StreamId();
  return DeviceGraphId(graphs_.size() - 1);
}

void EmulatedDevice::run(StreamId stream, DeviceGraphId graph) {
  const std::scoped_lock lock(mutex_);
  ++graph_runs_;
  for (const Task& task : graphs_[graph.index]) push(stream, task);
}

void EmulatedDevice::push(StreamId stream, Task task) {
  if (capturing_.valid() && stream == capturing_) {
    if (task.waits_for.valid() || task.records.valid() || task.ready) throw std::logic_error("only work goes into a graph");
    return graphs_.back().push_back(std::move(task));
  }
  streams_[stream.index].tasks.push_back(std::move(task));
  wander();
}

void EmulatedDevice::put_when_ready(StreamId stream, std::function<bool()> ready, std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  push(stream, {.work = std::move(work), .ready = std::move(ready)});
}

bool EmulatedDevice::is_own(const std::byte* first, Bytes bytes) const {
  const auto after = memory_.upper_bound(const_cast<std::byte*>(first));
  if (after == memory_.begin()) return false;
  const HostArena& arena = *std::prev(after)->second;
  return first + bytes.count <= arena.data() + arena.size().count;
}

bool EmulatedDevice::is_pinned(const std::byte* first, Bytes bytes) const {
  const auto after = pinned_.upper_bound(const_cast<std::byte*>(first));
  if (after == pinned_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return first + bytes.count <= begin + size;
}

/// As the CUDA backend's library finds an algorithm anew for other alignments, up to what memory is reserved with.
void EmulatedDevice::check_launch(const cuda::DeviceLaunch& launch) {
  constexpr std::size_t kMostAligned = 256;
  std::vector<std::pair<Access, std::size_t>> operands;
  for (const OperandView& operand : launch.operands) {
    if (operand.bytes > Bytes(0) && !is_own(operand.data, operand.bytes)) throw std::logic_error("a kernel's operand outside of the device's memory");
    const auto address = reinterpret_cast<std::size_t>(operand.data);
    operands.emplace_back(operand.access, std::min(kMostAligned, address & (~address + 1)));
  }
  if (used_.emplace(launch.kernel, std::move(operands)).second) refuse_in_capture("a kernel is used for the first time");
}

void EmulatedDevice::copy(StreamId stream, std::byte* to, const std::byte* from, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  for (const std::byte* place : {static_cast<const std::byte*>(to), from}) {
    if (!is_own(place, bytes) && !is_pinned(place, bytes)) ++blocking_copies_;
  }
  push(stream, {.work = [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes.count)); }});
}

void EmulatedDevice::fill(StreamId stream, std::byte* memory, std::byte value, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  push(stream, {.work = [=] { std::memset(memory, static_cast<int>(value), static_cast<std::size_t>(bytes.count)); }});
}

void EmulatedDevice::launch(StreamId stream, const cuda::DeviceLaunch& launch, const std::byte* flag) {
  const std::scoped_lock lock(mutex_);
  check_launch(launch);
  const std::vector<OperandView> operands(launch.operands.begin(), launch.operands.end());
  const Kernel kernel = launch.kernel;
  const LaunchContext context = launch.context;
  std::byte* scratch = launch.scratch;
  push(stream, {.work = [=] {
         std::uint64_t word = 1;
         if (flag != nullptr) std::memcpy(&word, flag, sizeof(word));
         if (word != 0) emulate({kernel, operands, context, scratch});
       }});
}

void EmulatedDevice::record(StreamId stream, DeviceEventId event) {
  const std::scoped_lock lock(mutex_);
  Event& marked = events_[event.index];
  marked.stream = stream;
  push(stream, {.work = {}, .records = event, .count = ++marked.given});
}

void EmulatedDevice::wait(StreamId stream, DeviceEventId event) {
  const std::scoped_lock lock(mutex_);
  if (events_[event.index].given == 0) throw std::logic_error("waits for an event that was never recorded");
  ++waits_;
  push(stream, {.work = {}, .waits_for = event, .count = events_[event.index].given});
}

void EmulatedDevice::advance(StreamId stream) {
  Stream& own = streams_[stream.index];
  const std::uint64_t turn = own.done;
  if (own.tasks.front().waits_for.valid()) reach(own.tasks.front().waits_for, own.tasks.front().count);
  while (own.done == turn && own.tasks.front().ready && !own.tasks.front().ready()) do_other_work();
  if (own.done != turn) return;  // another thread did it meanwhile
  const Task task = std::move(own.tasks.front());
  own.tasks.pop_front();
  ++own.done;
  if (task.work) task.work();
  if (!task.records.valid()) return;
  Event& event = events_[task.records.index];
  event.reached = task.count;
  event.time = Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::steady_clock::now().time_since_epoch()).count());
}

void EmulatedDevice::reach(DeviceEventId event, std::uint64_t count) {
  while (events_[event.index].reached < count) {
    const StreamId stream = events_[event.index].stream;
    if (streams_[stream.index].tasks.empty()) throw std::logic_error("waits for what never comes");
    advance(stream);
  }
}

bool EmulatedDevice::can_advance(const Stream& stream) const {
  if (stream.tasks.empty()) return false;
  const Task& first = stream.tasks.front();
  if (first.waits_for.valid() && events_[first.waits_for.index].reached < first.count) return false;
  return !first.ready || first.ready();
}

void EmulatedDevice::do_other_work() {
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    if (can_advance(streams_[stream])) return advance(StreamId(stream));
  }
  mutex_.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  mutex_.lock();
}

void EmulatedDevice::wander() {
  while (eager_ && random_() % 2 == 0) {
    const StreamId stream(static_cast<std::size_t>(random_() % streams_.size()));
    if (can_advance(streams_[stream.index])) advance(stream);
  }
}

void EmulatedDevice::synchronize(DeviceEventId event) {
  const std::scoped_lock lock(mutex_);
  refuse_in_capture("the host waits");
  if (events_[event.index].given == 0) throw std::logic_error("waits for an event that was never recorded");
  reach(event, events_[event.index].given);
}

void EmulatedDevice::synchronize() {
  const std::scoped_lock lock(mutex_);
  refuse_in_capture("the host waits");
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    while (!streams_[stream].tasks.empty()) advance(StreamId(stream));
  }
}

Nanoseconds EmulatedDevice::between(DeviceEventId from, DeviceEventId to) const {
  const std::scoped_lock lock(mutex_);
  for (const DeviceEventId event : {from, to}) {
    const Event& marked = events_[event.index];
    if (marked.given == 0 || marked.reached < marked.given) throw std::logic_error("the time of an event that was not reached");
  }
  return events_[to.index].time - events_[from.index].time;
}

}  // namespace plimsoll::test
