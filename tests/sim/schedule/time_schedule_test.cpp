#include <catch2/catch.hpp>

#include "tests/sim/schedule/made.h"

namespace plimsoll::test {

TEST_CASE("1f1b on two ranks is timed as by hand") {
  // forward 2, input gradient 3, weight gradient 1 (a whole backward takes 4), hop 0.5; 2 micro-batches
  //   rank 0: 0F0 0–2, 0F1 2–4,                                            0B0 9–13,        0B1 15–19
  //   rank 1:          1F0 2.5–4.5, 1B0 4.5–8.5, 1F1 8.5–10.5, 1B1 10.5–14.5
  // 0B0 waits for 1B0 and a hop: 8.5 + 0.5 = 9. 0B1 waits for 1B1 and a hop: 15 > 13.
  const Made two = made({.name = "1f1b", .ranks = 2, .micro_batches = 2, .costs = {2, 3, 1, 0.5}});
  const auto begin = [&](std::size_t rank, std::size_t op) { return two.costs.units(two.timing.ops[rank][op].begin); };
  CHECK(begin(0, 0) == 0);
  CHECK(begin(0, 1) == 2);
  CHECK(begin(0, 2) == 9);
  CHECK(begin(0, 3) == 15);
  CHECK(begin(1, 0) == 2.5);
  CHECK(begin(1, 1) == 4.5);
  CHECK(begin(1, 2) == 8.5);
  CHECK(begin(1, 3) == 10.5);
  CHECK(two.makespan() == 19);
  CHECK(two.timing.bubble_fraction() == Approx(1 - 12.0 / 19));
  CHECK(two.timing.bubble_rate() == Approx(1 - 12.0 / 19));  // rank 0's span is the whole 19, rank 1's 12
}

TEST_CASE("an input gradient lets the stage before go on, a whole backward does not") {
  // forward 1, input gradient 1, weight gradient 1, no hop. Stage 1 with I: 0I0 starts at 1 + 1 + 1 = 3; with B: at 4.
  PipelineSchedule schedule{.name = "test", .stages = 2, .micro_batches = 1};
  const auto orders = [](std::initializer_list<const char*> texts) {
    std::vector<PipelineOp> order;
    for (const char* text : texts) order.push_back(parse_pipeline_op(text).value());
    return order;
  };
  schedule.orders = {orders({"0F0", "0B0"}), orders({"1F0", "1I0", "1W0"})};
  CHECK(timed(schedule, {}).makespan() == 5);
  schedule.orders[1] = orders({"1F0", "1B0"});
  CHECK(timed(schedule, {}).makespan() == 6);
}

TEST_CASE("times are exact however a rank is cut and whatever the unit") {
  // Thirds of a rank: 4 + 1 chunk-times of 0.1 + 0.2 each, without a rounding error anywhere.
  const RankCosts costs{0.1, 0.1, 0.1, 0};
  const StageCosts thirds = even_costs(costs, {.ranks = 2, .stages = 6, .micro_batches = 4}).value();
  CHECK(thirds.units(Ticks(3 * thirds.stages[0].forward.count)) == 0.1);
  CHECK(thirds.stages.size() == 6);
  for (const double unit : {1e-3, 1.0, 1e6, 1e9}) {
    ScheduleRequest request{.name = "1f1b", .ranks = 64, .micro_batches = 1024, .costs = {unit, unit, unit, 0}};
    CHECK(made(request).makespan() == (1024 + 63) * 3 * unit);
  }
}

TEST_CASE("times that mean nothing are refused") {
  const PipelineShape shape{.ranks = 2, .stages = 2, .micro_batches = 4};
  CHECK_FALSE(even_costs({-1, 1, 1, 0}, shape));
  CHECK_FALSE(even_costs({1, 1, 1, -0.5}, shape));
  CHECK_FALSE(even_costs({0, 0, 0, 1}, shape));
  CHECK_FALSE(even_costs({1e10, 1, 1, 0}, shape));
  CHECK(even_costs({1, 2, 0, 0}, shape));
  CHECK_THAT(uneven_costs({{}, {}, {}}, shape).error().text(), Catch::Contains("costs of 3 stages"));
}

TEST_CASE("peaks and weight versions of 1f1b's family are p - r") {
  // Rank r lets p − r micro-batches in before their first gradient comes back; PipeDream keeps as many versions.
  for (const char* name : {"1f1b", "pipedream", "2bw"}) {
    const Made four = made({.name = name, .ranks = 4, .micro_batches = 12});
    CHECK(peak_activations(four.schedule, four.timing) == std::vector<double>{4, 3, 2, 1});
  }
  CHECK(weight_versions(made({.name = "1f1b", .ranks = 4, .micro_batches = 12}).schedule) ==
        std::vector<std::uint32_t>{1, 1, 1, 1});
  CHECK(weight_versions(made({.name = "pipedream", .ranks = 4, .micro_batches = 12}).schedule) ==
        std::vector<std::uint32_t>{4, 3, 2, 1});
  CHECK(weight_versions(made({.name = "2bw", .ranks = 4, .micro_batches = 12}).schedule) ==
        std::vector<std::uint32_t>{2, 2, 2, 2});
  CHECK(weight_versions(made({.name = "pipedream", .ranks = 4, .micro_batches = 12, .vertical_sync = true}).schedule) ==
        std::vector<std::uint32_t>{4, 4, 4, 4});
}

}  // namespace plimsoll::test
