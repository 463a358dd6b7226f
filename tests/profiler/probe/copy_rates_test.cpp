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

Platform machine_with(const CopyRates& rates) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), "H100 SXM5 80GB");
  REQUIRE(gpu);
  auto described = gpu_platform(*gpu, {.cpu_cores = 16});
  REQUIRE(described);
  take_copy_rates(described->platform, rates);
  return described->platform;
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
  const auto up_and_adam = speeds(platform, {"h2d", "cpu"});
  CHECK(up_and_adam[0] == Approx(36.3 / 54.7));
  CHECK(up_and_adam[1] == Approx(116.4 / 133.9));
  // Host memory gives 36.3 + 116.4 = 152.7. A byte down takes (152.7 - 96.5) / 54.9 = 1.02, so one: Adam is left 152.7 - 54.9 = 97.8.
  const auto down_and_adam = speeds(platform, {"d2h", "cpu"});
  CHECK(down_and_adam[0] == Approx(54.9 / 55.1).epsilon(0.02));
  CHECK(down_and_adam[1] == Approx(97.8 / 133.9).epsilon(0.02));
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
  const auto dram = std::find_if(platform.resources.begin(), platform.resources.end(), [](const Resource& one) { return one.name == "dram"; });
  CHECK(dram->capacity > 115 * kGiga);  // 60 + 55 were seen
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
