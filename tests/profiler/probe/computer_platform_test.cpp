#include <algorithm>
#include <catch2/catch.hpp>

#include "profiler/probe/this_computer.h"

using namespace plimsoll;

namespace {

ThisComputer two_cores() {
  return {.cpu_model = "Test CPU",
          .logical_cores = 2,
          .physical_cores = 2,
          .mhz = 2500,
          .avx2 = true,
          .memory_total = 20 * kGiB,
          .memory_available = 16 * kGiB};
}

double cores_held(const Platform& platform, std::string_view queue) {
  const auto& demands = platform.at(*platform.queue(queue)).demands;
  const auto found = std::find_if(demands.begin(), demands.end(),
                                  [&](const Demand& d) { return platform.at(d.resource).name == "cores"; });
  return found == demands.end() ? 0.0 : found->amount;
}

}  // namespace

TEST_CASE("this computer's arenas leave a sixteenth of the available memory and halve the rest") {
  // 16 GiB − 1 GiB = 15 GiB, 7.5 GiB each.
  const auto described = computer_platform(two_cores());
  REQUIRE(described);
  const auto& platform = described->platform;
  CHECK(platform.at(*platform.space(SpaceKind::kDevice)).usable == Bytes(15 * kGiB.count / 2));
  CHECK(platform.at(*platform.space(SpaceKind::kHost)).usable == Bytes(15 * kGiB.count / 2));
  CHECK_FALSE(platform.space(SpaceKind::kSsd));
}

TEST_CASE("caps set the arenas, and what is not capped takes the rest") {
  const auto device = computer_platform(two_cores(), {.device_memory = 2 * kGiB});
  REQUIRE(device);
  CHECK(device->platform.spaces[0].usable == 2 * kGiB);
  CHECK(device->platform.spaces[1].usable == 13 * kGiB);
  const auto both = computer_platform(two_cores(), {.device_memory = 2 * kGiB, .ram = 4 * kGiB});
  REQUIRE(both);
  CHECK(both->platform.spaces[1].usable == 4 * kGiB);
}

TEST_CASE("arenas beyond the available memory are refused with what there is") {
  for (const ComputerOptions& options :
       {ComputerOptions{.device_memory = 15 * kGiB, .ram = 1 * kGiB}, ComputerOptions{.ram = 15 * kGiB},
        ComputerOptions{.device_memory = kMaxParsedBytes, .ram = kMaxParsedBytes}}) {
    const auto described = computer_platform(two_cores(), options);
    REQUIRE_FALSE(described);
    CHECK(described.error().kind == ErrorKind::kInfeasible);
    CHECK(described.error().what.find("15.0") != std::string::npos);
  }
  CHECK(computer_platform(two_cores(), {.ram = Bytes(-1)}).error().kind == ErrorKind::kInput);
  CHECK(computer_platform(two_cores(), {.threads = 0}).error().kind == ErrorKind::kInput);
}

TEST_CASE("kernels hold their threads' cores, copies and small tasks one core") {
  const auto described = computer_platform(two_cores());
  REQUIRE(described);
  const auto& platform = described->platform;
  CHECK(cores_held(platform, "compute") == 2);
  CHECK(cores_held(platform, "cpu") == 2);
  for (const auto* queue : {"h2d", "d2h", "data", "report"}) CHECK(cores_held(platform, queue) == 1);
  // More threads than cores ask for no more cores than there are.
  CHECK(cores_held(computer_platform(two_cores(), {.threads = 5})->platform, "compute") == 2);
  CHECK(platform.at(*platform.queue("compute")).processor != platform.at(*platform.queue("cpu")).processor);
}

TEST_CASE("this computer's nominal rate is that of the threads that have a core") {
  // 2 cores · 2.5 GHz · 32 = 160 GFLOP/s; one thread half of it, four threads no more.
  const auto rate = [](std::optional<std::int64_t> threads) {
    return computer_platform(two_cores(), {.threads = threads})->platform.processors[0].fp32_flops;
  };
  CHECK(rate(std::nullopt) == Approx(160e9));
  CHECK(rate(1) == Approx(80e9));
  CHECK(rate(4) == Approx(160e9));
}

TEST_CASE("the probe finds a computer on which a platform can be built") {
  const auto computer = probe_this_computer();
  CHECK(computer.logical_cores >= 1);
  CHECK(computer.physical_cores >= 1);
  CHECK(computer.physical_cores <= computer.logical_cores);
  CHECK(computer.memory_available > Bytes(0));
  CHECK(computer.memory_available <= computer.memory_total);
  CHECK_FALSE(computer.cpu_model.empty());
  const auto described = this_computer_platform();
  REQUIRE(described);
  CHECK(described->platform.queues.size() == 6);
}

TEST_CASE("a drive brings a space, both links at its rates and two wide queues; without one there are none") {
  CHECK_FALSE(computer_platform(two_cores())->platform.space(SpaceKind::kSsd));
  const auto described = computer_platform(
      two_cores(), {.drive = AttachedDrive{.usable = 3 * kGiB, .read_bytes_per_second = 2e9, .write_bytes_per_second = 1e9}});
  REQUIRE(described);
  const auto& platform = described->platform;
  const auto ssd = platform.space(SpaceKind::kSsd);
  const auto host = platform.space(SpaceKind::kHost);
  REQUIRE(ssd);
  CHECK(platform.at(*ssd).usable == 3 * kGiB);
  CHECK(platform.at(*platform.link(*ssd, *host)).bytes_per_second == 2e9);
  CHECK(platform.at(*platform.link(*host, *ssd)).bytes_per_second == 1e9);
  CHECK(platform.at(*platform.queue("ssd.read")).width > 1);
  CHECK(platform.at(*platform.queue("ssd.write")).width > 1);
  CHECK_FALSE(platform.link(*ssd, *platform.space(SpaceKind::kDevice)));
}
