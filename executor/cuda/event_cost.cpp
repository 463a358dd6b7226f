#include "executor/cuda/event_cost.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace plimsoll {
namespace {

constexpr int kInRow = 256;  ///< kernels of a graph, in which no launch is waited for
constexpr int kRows = 4;
constexpr int kBetween = 33;  ///< kernels between events of their own
constexpr Bytes kOperand(256);

/// One element added to another.
class SmallestKernel {
 public:
  SmallestKernel(Device& device, StreamId stream) : device_(device), stream_(stream), memory_(device.reserve(3 * kOperand)) {
    device.fill(stream, memory_, std::byte{0}, 3 * kOperand);
    for (int i = 0; i < 3; ++i)
      operands_[static_cast<std::size_t>(i)] = {.data = memory_ + i * kOperand.count, .bytes = Bytes(4),
                                                .access = i == 2 ? Access::kWrite : Access::kRead};
    launch();  // its code is loaded before it is captured
    device.synchronize();
  }
  ~SmallestKernel() { device_.release(memory_); }
  SmallestKernel(const SmallestKernel&) = delete;
  SmallestKernel& operator=(const SmallestKernel&) = delete;

  void launch() const {
    const Kernel kernel{.kind = OpKind::kAdd, .dtype = DType::kFp32, .shape = {.rows = 1, .inputs = 1}};
    const LaunchContext context;
    device_.launch(stream_, {kernel, operands_, context}, nullptr);
  }

 private:
  Device& device_;
  StreamId stream_;
  std::byte* memory_;
  std::array<OperandView, 3> operands_;
};

/// Null where the device is full to the last of its pages: traces are a little too slow then.
std::unique_ptr<SmallestKernel> smallest_kernel(Device& device, StreamId stream) {
  try {
    return std::make_unique<SmallestKernel>(device, stream);
  } catch (const DeviceFull&) {
    return nullptr;
  }
}

/// Events for as long as they are needed.
class TakenEvents {
 public:
  TakenEvents(EventPool& pool, std::size_t count) : pool_(pool) {
    for (std::size_t i = 0; i < count; ++i) events_.push_back(pool.take());
  }
  ~TakenEvents() {
    for (const DeviceEventId event : events_) pool_.give_back(event);
  }
  TakenEvents(const TakenEvents&) = delete;
  TakenEvents& operator=(const TakenEvents&) = delete;
  [[nodiscard]] DeviceEventId at(std::size_t i) const { return events_[i]; }

 private:
  EventPool& pool_;
  std::vector<DeviceEventId> events_;
};

}  // namespace

EventCost find_event_cost(EventPool& events, StreamId stream) {
  Device& device = events.device();
  const auto kernel = smallest_kernel(device, stream);
  if (kernel == nullptr) return {};
  const DeviceGraphId row = device.capture(stream, [&] {
    for (int i = 0; i < kInRow; ++i) kernel->launch();
  });
  const TakenEvents marks(events, 2 + 2 * kBetween);
  device.record(stream, marks.at(0));
  for (int i = 0; i < kRows; ++i) device.run(stream, row);  // behind which the others are queued by the time they begin
  device.record(stream, marks.at(1));
  for (std::size_t i = 0; i < kBetween; ++i) {
    device.record(stream, marks.at(2 + 2 * i));
    kernel->launch();
    device.record(stream, marks.at(3 + 2 * i));
  }
  device.synchronize();
  const auto median = [&](std::size_t first) {  // of the times from this mark and from every second one after it
    std::vector<Nanoseconds> times;
    for (std::size_t i = first; i + 1 < 2 + 2 * kBetween; i += 2) times.push_back(device.between(marks.at(i), marks.at(i + 1)));
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  };
  const Nanoseconds alone(device.between(marks.at(0), marks.at(1)).count / (kRows * kInRow));
  return {.within = std::max(Nanoseconds(0), median(2) - alone), .between = std::max(Nanoseconds(0), median(3))};
}

}  // namespace plimsoll
