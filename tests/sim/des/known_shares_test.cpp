#include "sim/des/known_shares.h"

#include <catch2/catch.hpp>

#include <random>

using namespace plimsoll;

TEST_CASE("speeds that are remembered are those that are found anew, to the bit") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> unit(0.1, 1.0);
  std::vector<Resource> resources;
  for (int r = 0; r < 4; ++r) resources.push_back({"r", 2 * unit(random)});
  std::vector<std::vector<Demand>> demands(9);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    for (int r = 0; r < 4; ++r) {
      if (random() % 2 == 0) demands[i].push_back({ResourceId(r), 2 * unit(random)});
    }
    if (demands[i].empty()) demands[i].push_back({ResourceId(0), unit(random)});
  }
  KnownShares known(resources);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Activity> activities;
    for (std::size_t i = 0, count = 1 + random() % 14; i < count; ++i) {
      const std::size_t which = random() % demands.size();
      activities.push_back({demands[which], 1.0 + static_cast<double>(which % 3)});
    }
    std::vector<double> remembered(activities.size()), anew(activities.size());
    known.solve(activities, remembered);
    FairShare(resources).solve(activities, anew);
    REQUIRE(remembered == anew);
  }
}
