#include "tests/executor/cuda/emulated_device.h"

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/executor/cuda/emulated_launch.h"

namespace plimsoll::test {

DeviceInfo EmulatedDevice::info() const {
  const std::scoped_lock lock(mutex_);
  return {.name = "emulated device", .major = 0, .minor = 0, .total = capacity_, .free = capacity_ - reserved_,
          .software = "emulated on the host"};
}

std::byte* EmulatedDevice::reserve(Bytes bytes) {
  const std::scoped_lock lock(mutex_);
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
  reserved_ -= memory_.at(memory)->size();
  memory_.erase(memory);
}

void EmulatedDevice::pin(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  if (!pinned_.emplace(memory.data(), memory.size()).second) throw std::logic_error("pinned twice");
}

void EmulatedDevice::unpin(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  if (pinned_.erase(memory.data()) == 0) throw std::logic_error("was not pinned");
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
  work();
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

void EmulatedDevice::copy(StreamId stream, std::byte* to, const std::byte* from, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  push(stream, {.work = [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes.count)); }});
}

void EmulatedDevice::fill(StreamId stream, std::byte* memory, std::byte value, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  push(stream, {.work = [=] { std::memset(memory, static_cast<int>(value), static_cast<std::size_t>(bytes.count)); }});
}

void EmulatedDevice::launch(StreamId stream, const cuda::DeviceLaunch& launch, const std::byte* flag) {
  const std::scoped_lock lock(mutex_);
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
  reach(event, events_[event.index].given);
}

void EmulatedDevice::synchronize() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    while (!streams_[stream].tasks.empty()) advance(StreamId(stream));
  }
}

Nanoseconds EmulatedDevice::between(DeviceEventId from, DeviceEventId to) const {
  const std::scoped_lock lock(mutex_);
  return events_[to.index].time - events_[from.index].time;
}

}  // namespace plimsoll::test
