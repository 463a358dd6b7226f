#include "profiler/probe/copy_rates.h"

#include <catch2/catch.hpp>

#include "formats/machines/catalogue_platform.h"
#include "sim/des/fair_share.h"

using namespace plimsoll;

namespace {

constexpr double kGiga = 1e9;

/// As an H100's machine had them: copies up lose most, to the other way and to Adam; copies down have their way, at Adam's cost.
constexpr CopyRates kUneven{.up = 54.7 * kGiga,
                            .down = 55.1 * kGiga,
                            .adam = 133.9 * kGiga,
                            .up_beside_down = 46.8 * kGiga,
                            .down_beside_up = 51.1 * kGiga,
                            .up_beside_adam = 36.3 * kGiga,
                            .adam_beside_up = 116.4 * kGiga,
                            .down_beside_adam = 54.9 * kGiga,
                            .adam_beside_down = 96.5 * kGiga};

Platform machine_with(const CopyRates& rates, const MachineOptions& options = {.cpu_cores = 16}) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), "H100 SXM5 80GB");
  REQUIRE(gpu);
  auto described = gpu_platform(*gpu, options);
  REQUIRE(described);
  REQUIRE(take_copy_rates(described->platform, rates));
  return described->platform;
}

double capacity_of(const Platform& platform, std::string_view name) {
  return std::find_if(platform.resources.begin(), platform.resources.end(), [&](const Resource& one) { return one.name == name; })->capacity;
}

/// What the simulator shares resources by, of work on these queues that run together.
std::vector<double> speeds(const Platform& platform, const std::vector<std::string_view>& names) {
  double fastest = 0;
  for (const Link& link : platform.links) fastest = std::max(fastest, link.bytes_per_second);
  std::vector<std::vector<Demand>> demands;
  std::vector<double> weights;
  for (const std::string_view name : names) {
    const Queue& queue = platform.at(*platform.queue(name));
    demands.push_back(queue.demands);
    weights.push_back(queue.weight);
    if (name == "cpu") continue;
    const Link& link = platform.links[name == "h2d" ? 0 : 1];
    for (const Demand& demand : link.path) demands.back().push_back({demand.resource, demand.amount * link.bytes_per_second});
    weights.back() *= fastest / link.bytes_per_second;
  }
  std::vector<Activity> activities;
  for (std::size_t i = 0; i < names.size(); ++i) activities.push_back({demands[i], weights[i]});
  std::vector<double> found(names.size());
  FairShare(platform.resources).solve(activities, found);
  return found;
}

}  // namespace

TEST_CASE("copies and Adam slow one another as they were measured") {
  const Platform platform = machine_with(kUneven);
  // Host memory gives 36.3 + 116.4 = 152.7; a byte up takes one of it, and a byte down (152.7 - 96.5) / 54.9 = 1.02.
  CHECK(capacity_of(platform, "dram") == Approx(152.7 * kGiga));
  const auto up_and_adam = speeds(platform, {"h2d", "cpu"});
  CHECK(up_and_adam[0] == Approx(36.3 / 54.7));
  CHECK(up_and_adam[1] == Approx(116.4 / 133.9));
  const auto down_and_adam = speeds(platform, {"d2h", "cpu"});
  CHECK(down_and_adam[0] == Approx(54.9 / 55.1));
  CHECK(down_and_adam[1] == Approx(96.5 / 133.9));
}

TEST_CASE("Adam that alone moves more than both of a pair has all of it alone, and the pair is slowed as it was measured") {
  CopyRates rates = kUneven;
  rates.adam = 203 * kGiga;
  rates.adam_beside_up = 150 * kGiga;
  rates.adam_beside_down = 94 * kGiga;
  const Platform platform = machine_with(rates);
  CHECK(capacity_of(platform, "dram") == Approx(203 * kGiga));
  CHECK(speeds(platform, {"cpu"})[0] == Approx(1));
  CHECK(speeds(platform, {"h2d", "cpu"})[0] == Approx(36.3 / 54.7));
  CHECK(speeds(platform, {"h2d", "cpu"})[1] == Approx(150.0 / 203));
  CHECK(speeds(platform, {"d2h", "cpu"})[1] == Approx(94.0 / 203));  // a byte down takes (203 - 94) / 54.9 = 1.99
}

TEST_CASE("Adam that copies down alone slow is slowed by them, whatever the catalogue says of host memory") {
  CopyRates rates = kUneven;
  rates.up_beside_adam = rates.up;
  rates.adam_beside_up = rates.adam;
  rates.adam_beside_down = 60 * kGiga;
  const Platform platform = machine_with(rates);
  for (const double speed : speeds(platform, {"h2d", "cpu"})) CHECK(speed == Approx(1));
  CHECK(speeds(platform, {"d2h", "cpu"})[1] == Approx(60.0 / 133.9));
}

TEST_CASE("no queue asks for more of a resource than there is, so that bounds of loads hold") {
  CopyRates narrow = kUneven;
  narrow.up_beside_down = narrow.down_beside_up = 12 * kGiga;  // less together than one way alone
  narrow.adam = 300 * kGiga;
  for (const CopyRates& rates : {kUneven, narrow}) {
    const Platform platform = machine_with(rates);
    CHECK(rates.adam <= capacity_of(platform, "dram"));
    for (const Link& link : platform.links) {
      for (const Demand& demand : link.path) CHECK(demand.amount * link.bytes_per_second <= platform.at(demand.resource).capacity * (1 + 1e-12));
    }
  }
}

TEST_CASE("a drive that reaches the device is no faster than the slot is") {
  CopyRates slow = kUneven;
  slow.up = slow.up_beside_down = slow.up_beside_adam = 6.5 * kGiga;
  const Platform platform = machine_with(slow, {.ssd = 2000 * kGiB, .ssd_read_gbs = 14, .ssd_write_gbs = 12, .cpu_cores = 16, .direct_storage = true});
  CHECK(platform.at(*platform.link(*platform.space(SpaceKind::kSsd), *platform.space(SpaceKind::kDevice))).bytes_per_second == 6.5 * kGiga);
  CHECK(platform.at(*platform.link(*platform.space(SpaceKind::kDevice), *platform.space(SpaceKind::kSsd))).bytes_per_second == 12 * kGiga);
}

TEST_CASE("a rate that is not positive changes nothing") {
  const Platform before = machine_with(kUneven);
  for (double CopyRates::* const missing : {&CopyRates::adam, &CopyRates::up, &CopyRates::adam_beside_up, &CopyRates::down_beside_adam}) {
    Platform platform = before;
    CopyRates rates = kUneven;
    rates.*missing = 0;
    CHECK_FALSE(take_copy_rates(platform, rates));
    CHECK(platform.links[0].bytes_per_second == before.links[0].bytes_per_second);
  }
}

TEST_CASE("copies of both ways are as fast together as they were measured") {
  const auto both_ways = speeds(machine_with(kUneven), {"h2d", "d2h"});
  CHECK(54.7 * both_ways[0] + 55.1 * both_ways[1] == Approx(46.8 + 51.1));
  CHECK(both_ways[0] == Approx(46.8 / 54.7).epsilon(0.1));
  CHECK(both_ways[1] == Approx(51.1 / 55.1).epsilon(0.1));
}

TEST_CASE("copies down that nobody noticed take of host memory what was left") {
  CopyRates rates = kUneven;
  rates.adam_beside_down = rates.adam;
  const Platform platform = machine_with(rates);
  for (const double speed : speeds(platform, {"d2h", "cpu"})) CHECK(speed == Approx(1).epsilon(0.01));
}

TEST_CASE("alone each has all of its rate") {
  const Platform platform = machine_with(kUneven);
  CHECK(platform.links[0].bytes_per_second == 54.7 * kGiga);
  CHECK(platform.links[1].bytes_per_second == 55.1 * kGiga);
  for (const std::string_view name : {"h2d", "d2h", "cpu"}) CHECK(speeds(platform, {name})[0] == Approx(1));
}

TEST_CASE("host memory that nothing was short of keeps what the catalogue says, if that is more") {
  CopyRates rates = kUneven;
  rates.adam = rates.adam_beside_up = rates.adam_beside_down = 60 * kGiga;
  rates.up_beside_adam = rates.up;
  const Platform platform = machine_with(rates);
  CHECK(capacity_of(platform, "dram") > 115 * kGiga);  // 60 + 55 were seen
  for (const double speed : speeds(platform, {"h2d", "cpu"})) CHECK(speed == Approx(1));
}

TEST_CASE("what was faster beside other work than alone is taken to be as fast") {
  CopyRates rates = kUneven;
  rates.up_beside_down = 57 * kGiga;
  rates.down_beside_up = 57 * kGiga;
  rates.adam_beside_up = 150 * kGiga;
  const Platform platform = machine_with(rates);
  for (const double speed : speeds(platform, {"h2d", "d2h"})) CHECK(speed == Approx(1));
  CHECK(speeds(platform, {"h2d", "cpu"})[1] == Approx(1));
  CHECK(speeds(platform, {"h2d", "cpu"})[0] == Approx(36.3 / 54.7));
}
