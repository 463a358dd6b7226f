#include <cstring>
#include <random>

#include "executor/cuda/nccl_links.h"
#include "executor/cuda/stream_exchange.h"
#include "tests/gpu/device_plans.h"

// A job of one rank: what NCCL does on one GPU.
namespace plimsoll::gpu {
namespace {

constexpr std::size_t kFloats = std::size_t{1} << 20;
constexpr Bytes kSize{static_cast<std::int64_t>(kFloats * sizeof(float))};

/// Memory of the device for as long as a check lasts.
class Held {
 public:
  Held(Device& device, Bytes bytes)
      : device_(device), memory_(device.reserve(bytes)), size_(static_cast<std::size_t>(bytes.count)) {}
  ~Held() { device_.release(memory_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, size_}; }

 private:
  Device& device_;
  std::byte* memory_;
  std::size_t size_;
};

std::vector<float> random_floats() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(kFloats);
  for (float& value : values) value = normal(random);
  return values;
}

int differing(const std::vector<float>& a, const std::vector<float>& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

void alone(Bench& bench) {
  const auto nccl = find_nccl();
  if (!nccl) return bench.skip(nccl.error().text());
  Device& device = *bench.device();
  const LinkPlan plan{.links = {{0}}, .link_of_queue = {{0}}};
  const auto links = taken(open_nccl_links(device, plan, 0, 1, [](const std::string& mine) { return std::vector{mine}; }));
  const StreamId stream = device.add_stream();
  const Held from(device, kSize), to(device, kSize);
  const std::vector<float> sent = random_floats();
  std::vector<float> arrived(kFloats);
  device.copy(stream, from.bytes().data(), reinterpret_cast<const std::byte*>(sent.data()), kSize);
  const OutgoingBytes out{0, from.bytes()};
  const IncomingBytes in{0, to.bytes()};
  links->exchange(stream, 0, {&out, 1}, {&in, 1});
  device.copy(stream, reinterpret_cast<std::byte*>(arrived.data()), to.bytes().data(), kSize);
  device.synchronize();
  bench.add("to itself, in a group", differing(arrived, sent), arrived == sent, *nccl);

  StreamExchange steps(device, stream, *links, 0);
  run_exchange({.kind = ExchangeKind::kAllReduce, .dtype = DType::kFp32, .ranks = {0}}, steps, {to.bytes(), {}});
  device.copy(stream, reinterpret_cast<std::byte*>(arrived.data()), to.bytes().data(), kSize);
  device.synchronize();
  bench.add("the sum of one rank", differing(arrived, sent), arrived == sent);

  StreamExchange::put_sum(device, stream, DType::kFp32, to.bytes(), from.bytes());  // as a second rank's term would be added
  device.copy(stream, reinterpret_cast<std::byte*>(arrived.data()), to.bytes().data(), kSize);
  device.synchronize();
  std::vector<float> twice = sent;
  for (float& value : twice) value += value;
  bench.add("a further term", differing(arrived, twice), arrived == twice);
}

}  // namespace

std::vector<Check> link_checks() {
  return {{"nccl-alone", "0 of 1 Mi numbers other than they were sent, or summed", alone}};
}

}  // namespace plimsoll::gpu
