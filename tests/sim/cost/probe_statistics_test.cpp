#include "sim/cost/probe_statistics.h"

#include <catch2/catch.hpp>

#include "sim/cost/calibrate.h"
#include "sim/cost/catalogue_cost_model.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;

namespace {

const Kernel kAdd{.kind = OpKind::kAdd, .dtype = DType::kFp32, .shape = {.rows = 64, .inputs = 8}};

MachineProbe probe_of(const Platform& platform) {
  MachineProbe probe;
  probe.costs = {{to_text(kernel_key(platform.processors[1], kAdd)), {5000, 4000, 7000, 20}},
                 {to_text(issue_key(platform, QueueKind::kCompute)), {300, 100, 900, 50}}};
  probe.plans = {"b", "a"};
  return probe;
}

}  // namespace

TEST_CASE("what a probe measured is answered as measured, with its own spread") {
  const Platform platform = test::tiny_platform();
  auto statistics = statistics_of(probe_of(platform));
  REQUIRE(statistics);
  CHECK(statistics->count.samples == 70);
  CHECK(statistics->count.keys == 2);
  const auto model = calibrate(std::move(*statistics), std::make_shared<CatalogueCostModel>()).model;
  const auto cost = model->kernel(platform.processors[1], kAdd);
  REQUIRE(cost);
  CHECK(cost->origin == CostOrigin::kMeasured);
  CHECK(cost->median == Nanoseconds(5000));
  CHECK(cost->low == Nanoseconds(4000));
  CHECK(cost->high == Nanoseconds(7000));
  CHECK(model->issue_overhead(platform, QueueKind::kCompute) == Nanoseconds(300));
  CHECK(model->sample_plans() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a probe with a cost that is no key is refused by name") {
  MachineProbe probe;
  probe.costs = {{"kernel of my own", {1, 1, 1, 1}}};
  const auto statistics = statistics_of(probe);
  REQUIRE_FALSE(statistics);
  CHECK(statistics.error().what.find("kernel of my own") != std::string::npos);
}
