#include "tests/support/tiny_platform.h"

#include <stdexcept>

namespace plimsoll::test {
namespace {

constexpr SpaceId kGpu{0}, kHost{1}, kSsd{2};
constexpr ProcessorId kGpuCores{0}, kCpuCores{1};
constexpr ResourceId kToDevice{0}, kToHost{1}, kBothWays{2}, kDram{3}, kDrive{4}, kCores{5};

Queue queue(const char* name, QueueKind kind, ProcessorId processor, std::vector<Demand> demands = {}) {
  return {.name = name, .kind = kind, .processor = processor, .width = 1, .rank = 0, .demands = std::move(demands)};
}

Queue ring(const char* name) {
  return {.name = name, .kind = QueueKind::kStorage, .processor = kCpuCores, .width = 4, .rank = 0, .demands = {}};
}

}  // namespace

Platform tiny_platform() {
  Platform p;
  p.name = "tiny";
  p.spaces = {{"gpu0", SpaceKind::kDevice, 64 * kMiB, 64 * kMiB},
              {"host", SpaceKind::kHost, 256 * kMiB, 256 * kMiB},
              {"ssd", SpaceKind::kSsd, kGiB, kGiB}};
  p.processors = {{"gpu0", ProcessorKind::kGpu, kGpu, 8, 1e11, 1e12, 4e12, 4e12, 0, "tiny gpu"},
                  {"cpu", ProcessorKind::kCpu, kHost, 2, 2e10, 5e10, 0, 0, 0, "tiny cpu"}};
  p.resources = {{"pcie.h2d", 1e10}, {"pcie.d2h", 1e10}, {"pcie.total", 1.6e10},
                 {"dram", 2e10},     {"ssd.total", 1},   {"cores", 2}};
  p.links = {{"gpu0>host", kGpu, kHost, 1e10, Nanoseconds(5000), {{kToHost, 1}, {kBothWays, 1}, {kDram, 1}}},
             {"host>gpu0", kHost, kGpu, 1e10, Nanoseconds(5000), {{kToDevice, 1}, {kBothWays, 1}, {kDram, 1}}},
             {"host>ssd", kHost, kSsd, 1e9, Nanoseconds(50000), {{kDrive, 1 / 1e9}, {kDram, 1}}},
             {"ssd>host", kSsd, kHost, 2e9, Nanoseconds(80000), {{kDrive, 1 / 2e9}, {kDram, 1}}}};
  p.queues = {queue("compute", QueueKind::kCompute, kGpuCores),
              queue("h2d", QueueKind::kCopy, kGpuCores),
              queue("d2h", QueueKind::kCopy, kGpuCores),
              queue("cpu", QueueKind::kHostCompute, kCpuCores, {{kCores, 2}}),
              queue("data", QueueKind::kHostWork, kCpuCores, {{kCores, 1}}),
              queue("report", QueueKind::kHostWork, kCpuCores, {{kCores, 1}}),
              ring("ssd.read"),
              ring("ssd.write")};
  return p;
}

QueueId queue_named(const Platform& platform, std::string_view name) {
  if (const auto id = platform.queue(name)) return *id;
  throw std::out_of_range("no queue " + std::string(name));
}

SpaceId space_named(const Platform& platform, std::string_view name) {
  for (std::size_t i = 0; i < platform.spaces.size(); ++i) {
    if (platform.spaces[i].name == name) return SpaceId(i);
  }
  throw std::out_of_range("no space " + std::string(name));
}

}  // namespace plimsoll::test
