#include "executor/cuda/event_cost.h"

#include <catch2/catch.hpp>
#include <vector>

namespace plimsoll::test {
namespace {

/// A device of one stream that only counts time: so much for a kernel, and so much before each event is reached.
class CountedDevice final : public Device {
 public:
  CountedDevice(Nanoseconds kernel, Nanoseconds event) : kernel_(kernel), event_(event) {}

  [[nodiscard]] DeviceInfo info() const override { return {}; }
  std::byte* reserve(Bytes bytes) override {
    if (full) throw DeviceFull({.kind = ErrorKind::kEnvironment, .what = "full"}, bytes);
    return memory_.emplace_back(static_cast<std::size_t>(bytes.count)).data();
  }
  void release(std::byte*) override { memory_.pop_back(); }
  std::byte* resize(std::byte* memory, Bytes, Bytes) override { return memory; }
  void pin(std::span<std::byte>) override {}
  void unpin(std::span<std::byte>) override {}
  void prepare_direct_storage() override {}
  std::unique_ptr<BlockIo> open_direct_io(const DriveFile&, std::span<const std::span<std::byte>>) override { return nullptr; }
  StreamId add_stream() override { return StreamId(0); }
  DeviceEventId add_event() override { return events_.emplace_back(), DeviceEventId(events_.size() - 1); }
  void copy(StreamId, std::byte*, const std::byte*, Bytes) override {}
  void fill(StreamId, std::byte*, std::byte, Bytes) override {}
  void launch(StreamId, const cuda::DeviceLaunch&, const std::byte*) override { now_ += kernel_; }
  DeviceGraphId capture(StreamId, const std::function<void()>& work) override {
    const Nanoseconds before = now_;
    work();
    graph_ = now_ - before;
    now_ = before;
    return DeviceGraphId(0);
  }
  void run(StreamId, DeviceGraphId) override { now_ += graph_; }
  void record(StreamId, DeviceEventId event) override { events_[event.index] = now_ += event_; }
  void wait(StreamId, DeviceEventId) override {}
  void synchronize(DeviceEventId) override {}
  void synchronize() override {}
  [[nodiscard]] void* native_stream(StreamId) const override { return nullptr; }
  [[nodiscard]] Nanoseconds between(DeviceEventId from, DeviceEventId to) const override {
    return events_[to.index] - events_[from.index];
  }
  [[nodiscard]] std::size_t reserved() const { return memory_.size(); }
  bool full = false;

 private:
  Nanoseconds kernel_, event_, now_, graph_;
  std::vector<Nanoseconds> events_;
  std::vector<std::vector<std::byte>> memory_;
};

EventCost cost_on(CountedDevice& device) {
  EventPool events(device);
  return find_event_cost(events, device.add_stream());
}

}  // namespace

TEST_CASE("what events add to a kernel's time is found, however long the kernel takes") {
  for (const std::int64_t kernel : {1000, 9000}) {
    CountedDevice device{Nanoseconds(kernel), Nanoseconds(2600)};
    const EventCost cost = cost_on(device);
    CHECK(cost.within.count == Approx(2600).margin(3));  // 2600 / 1024 of it is in the row's time
    CHECK(cost.between.count == 2600);
    CHECK(device.reserved() == 0);
  }
}

TEST_CASE("events that add nothing cost nothing") {
  CountedDevice device{Nanoseconds(1500), Nanoseconds(0)};
  const EventCost cost = cost_on(device);
  CHECK(cost.within.count == 0);
  CHECK(cost.between.count == 0);
}

TEST_CASE("on a device that is full nothing is found, and nothing fails") {
  CountedDevice device{Nanoseconds(1500), Nanoseconds(2600)};
  device.full = true;
  CHECK(cost_on(device).within.count == 0);
}

}  // namespace plimsoll::test
