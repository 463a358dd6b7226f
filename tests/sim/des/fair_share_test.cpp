#include "sim/des/fair_share.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace plimsoll;

namespace {

struct Wish {
  std::vector<Demand> demands;
  double weight = 1.0;
};

std::vector<double> speeds_of(const std::vector<double>& capacities, const std::vector<Wish>& wishes) {
  std::vector<Resource> resources;
  for (const double capacity : capacities) resources.push_back({"r", capacity});
  std::vector<Activity> activities;
  for (const Wish& wish : wishes) activities.push_back({wish.demands, wish.weight});
  std::vector<double> speeds(wishes.size());
  FairShare(resources).solve(activities, speeds);
  return speeds;
}

Demand want(int resource, double amount) { return {ResourceId(resource), amount}; }

}  // namespace

TEST_CASE("two equal flows on one uplink get half of it each") {
  // 10 λ + 10 λ = 10  =>  λ = 1/2.
  CHECK(speeds_of({10}, {{{want(0, 10)}}, {{want(0, 10)}}}) == std::vector<double>{0.5, 0.5});
}

TEST_CASE("a flow capped by its own leaf leaves the rest of the uplink to the other") {
  // Uplink 10. Flow A's leaf carries 2, so alone it runs at 2 units/s; flow B's leaf carries 10, alone 10 units/s.
  // Fair in units/s: weights 10/2 = 5 and 10/10 = 1. A: speed 5 λ reaches 1 at λ = 0.2. B: 2 + 10 λ = 10 => λ = 0.8.
  const auto speeds = speeds_of({10, 2, 10}, {{{want(0, 2), want(1, 2)}, 5.0}, {{want(0, 10), want(2, 10)}, 1.0}});
  CHECK(speeds[0] == 1.0);
  CHECK(speeds[1] == Approx(0.8));
}

TEST_CASE("transfers of unlike rates share an uplink in equal bytes") {
  // Uplink 10; alone 10 and 8 units/s; weights 1 and 10/8. 10 λ + 8 (10/8) λ = 10 => λ = 1/2: 5 units/s each.
  const auto speeds = speeds_of({10}, {{{want(0, 10)}, 1.0}, {{want(0, 8)}, 10.0 / 8.0}});
  CHECK(speeds[0] * 10 == Approx(5));
  CHECK(speeds[1] * 8 == Approx(5));
}

TEST_CASE("work on cores is slowed alike") {
  // 2 cores, wanted 2 and 1: 2 λ + λ = 2 => λ = 2/3 for both.
  const auto speeds = speeds_of({2}, {{{want(0, 2)}}, {{want(0, 1)}}});
  CHECK(speeds[0] == Approx(2.0 / 3.0));
  CHECK(speeds[1] == Approx(2.0 / 3.0));
}

TEST_CASE("what one bottleneck leaves over goes to the others") {
  // A wants 2 of x, B 2 of x and 2 of y, C 3 of y; x = 2, y = 3. x: 2 λ + 2 λ = 2 => λ = 1/2 for A and B.
  // y: B uses 2 · 1/2 = 1, C gets the other 2 of the 3 it wants.
  const auto speeds = speeds_of({2, 3}, {{{want(0, 2)}}, {{want(0, 2), want(1, 2)}}, {{want(1, 3)}}});
  CHECK(speeds[0] == Approx(0.5));
  CHECK(speeds[1] == Approx(0.5));
  CHECK(speeds[2] == Approx(2.0 / 3.0));
}

TEST_CASE("an activity alone runs at full speed whatever it wants") {
  CHECK(speeds_of({2}, {{{want(0, 100)}}}) == std::vector<double>{1.0});
}

TEST_CASE("nobody is slowed when everything fits") {
  CHECK(speeds_of({3, 1}, {{{want(0, 1)}}, {{want(0, 2)}}, {{want(1, 1)}}, {{}}}) == std::vector<double>(4, 1.0));
}

TEST_CASE("a resource of unknown capacity limits nobody") {
  CHECK(speeds_of({0}, {{{want(0, 5)}}, {{want(0, 5)}}}) == std::vector<double>{1.0, 1.0});
}

TEST_CASE("random shares overload no resource and every slowed activity has a full one") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(0.1, 1.0);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> capacities(1 + random() % 4);
    for (double& capacity : capacities) capacity = 4 * unit(random);
    std::vector<Wish> wishes(1 + random() % 8);
    for (Wish& wish : wishes) {
      wish.weight = 3 * unit(random);
      for (int r = 0; r < static_cast<int>(capacities.size()); ++r) {
        if (random() % 2 == 0) wish.demands.push_back(want(r, std::min(capacities[r], 2 * unit(random))));
      }
    }
    const auto speeds = speeds_of(capacities, wishes);
    std::vector<double> used(capacities.size());
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      for (const Demand& demand : wishes[i].demands) used[demand.resource.index] += demand.amount * speeds[i];
    }
    for (std::size_t r = 0; r < used.size(); ++r) REQUIRE(used[r] <= capacities[r] * (1 + 1e-9));
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      REQUIRE(speeds[i] > 0);
      if (speeds[i] == 1.0) continue;
      // Max-min: one of its resources is full, and nobody on it stands at a higher level.
      bool bottleneck = false;
      for (const Demand& mine : wishes[i].demands) {
        bool highest = used[mine.resource.index] >= capacities[mine.resource.index] * (1 - 1e-9);
        for (std::size_t j = 0; j < wishes.size(); ++j) {
          for (const Demand& theirs : wishes[j].demands) {
            if (theirs.resource != mine.resource) continue;
            highest &= speeds[j] / wishes[j].weight <= speeds[i] / wishes[i].weight * (1 + 1e-9);
          }
        }
        bottleneck |= highest;
      }
      REQUIRE(bottleneck);
    }
  }
}
