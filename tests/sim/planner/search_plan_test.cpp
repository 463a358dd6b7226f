#include "sim/planner/search_plan.h"

#include <catch2/catch.hpp>

#include "core/graph/op_work.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/lower_bound.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// Ten nanoseconds a kernel and one for each thousand operations; links at their rate.
class PlainCosts final : public CostModel {
 public:
  Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    return exact(10 + static_cast<std::int64_t>(flops_of(kernel.kind, kernel.shape) / 1000));
  }
  Result<Cost> transfer(const Platform&, const Link& link, Bytes bytes) const override {
    return exact(link.latency.count + static_cast<std::int64_t>(1e9 * static_cast<double>(bytes.count) / link.bytes_per_second));
  }
  Result<Cost> host_work(const Processor&, HostTask, Bytes) const override { return exact(1000); }
  Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return Nanoseconds(0); }
  std::string source() const override { return "plain"; }

 private:
  static Cost exact(std::int64_t ns) { return {Nanoseconds(ns), Nanoseconds(ns), Nanoseconds(ns), CostOrigin::kMeasured}; }
};

Platform capped(Bytes device) {
  Platform platform = tiny_platform();
  platform.spaces[0].usable = device;
  return platform;
}

SearchResult search(const Platform& platform, const std::string& strategy = "auto") {
  return search_plan(small_model(Family::kGpt2), small_recipe(), platform, PlainCosts(), {.strategy = strategy}).value();
}

}  // namespace

TEST_CASE("with room for everything the search keeps everything on the device") {
  const SearchResult result = search(tiny_platform());
  REQUIRE(result.plan);
  CHECK(result.plan->strategy.name == "resident");
  CHECK(verify_plan(*result.plan));
}

TEST_CASE("under every cap the plan that is chosen fits, is the fastest that does, and respects the lower bounds") {
  const Bytes resident = search(tiny_platform()).candidates.front().needs[0].needed;
  for (const std::int64_t percent : {90, 75, 60, 50, 45, 40}) {
    const SearchResult result = search(capped(Bytes(resident.count * percent / 100)));
    if (!result.plan) continue;
    for (const SpaceNeed& need : space_needs(*result.plan)) CHECK(need.fits());
    for (const Candidate& other : result.candidates) {
      if (other.step) CHECK(result.prediction->step <= *other.step);
    }
    const LowerBound bound = lower_bound(*result.plan, PlainCosts()).value();
    CHECK(result.prediction->step >= bound.step);
    CHECK(result.plan->arena_bytes(SpaceId(0)) >= bound.device);
    CHECK(verify_plan(*result.plan));
  }
}

TEST_CASE("when nothing fits, the candidates say what is missing, the nearest first") {
  const SearchResult result = search(capped(Bytes(4096)));
  CHECK_FALSE(result.plan);
  REQUIRE(result.candidates.size() > 1);
  for (std::size_t i = 1; i < result.candidates.size(); ++i) {
    CHECK(result.candidates[i - 1].shortfall() <= result.candidates[i].shortfall());
  }
  CHECK(result.candidates.front().shortfall() > Bytes(0));
}

TEST_CASE("an unknown strategy brings the nearest names") {
  const auto result = search_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(), PlainCosts(),
                                  {.strategy = "offload-optimiser"});
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::kUnknownName);
  CHECK(result.error().remedy.find("offload-optimizer") != std::string::npos);
}
