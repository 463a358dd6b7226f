#include <catch2/catch.hpp>

#include <sstream>

#include "core/schedule/verify_schedule.h"

namespace plimsoll {
namespace {

/// Orders as text, one rank a string; "+" before an op overlaps it with the next.
PipelineSchedule schedule_of(std::uint32_t stages, std::uint32_t micro_batches, const std::vector<std::string>& ranks) {
  PipelineSchedule schedule{.name = "test", .stages = stages, .micro_batches = micro_batches};
  for (const std::string& rank : ranks) {
    std::istringstream words(rank);
    auto& order = schedule.orders.emplace_back();
    for (std::string word; words >> word;) {
      const bool pair = word.front() == '+';
      order.push_back(parse_pipeline_op(pair ? word.substr(1) : word).value());
      order.back().with_next = pair;
    }
  }
  return schedule;
}

/// What verification says of it: "" when it is sound.
std::string verdict(const PipelineSchedule& schedule) {
  const auto verified = verify_schedule(schedule);
  return verified ? "" : verified.error().text();
}

}  // namespace

TEST_CASE("an op is written as it is read") {
  for (const char* text : {"0F0", "12B34", "7I1023", "511W8"}) CHECK(to_text(parse_pipeline_op(text).value()) == text);
  for (const char* text : {"", "F0", "0F", "0X0", "0F0 ", "-1F0", "0f0", "1F1F1", "1234567890F0"}) {
    INFO(text);
    CHECK_FALSE(parse_pipeline_op(text));
  }
}

TEST_CASE("verify_schedule accepts orders that train, and counts what crosses ranks") {
  const auto report = verify_schedule(schedule_of(2, 2, {"0F0 0F1 0B0 0B1", "1F0 1I0 1W0 1F1 1B1"})).value();
  CHECK(report.ops == 9);
  CHECK(report.transfers == 4);  // one boundary · two micro-batches · there and back
  CHECK(verify_schedule(schedule_of(2, 1, {"0F0 1F0 1B0 0B0"})).value().transfers == 0);
}

TEST_CASE("verify_schedule names what is missing, twice, misplaced or out of range") {
  CHECK_THAT(verdict(schedule_of(1, 2, {"0F0 0B0 0F1"})), Catch::Contains("stage 0, micro-batch 1: no backward"));
  CHECK_THAT(verdict(schedule_of(1, 2, {"0F0 0B0"})), Catch::Contains("stage 0, micro-batch 1: no forward"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0 0I0"})), Catch::Contains("no weight gradient (W)"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0 0B0 0F0"})), Catch::Contains("rank 0, op 2 (0F0): comes after F and B"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0 0I0 0B0 0W0"})), Catch::Contains("op 2 (0B0): comes after I"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0B0 0F0"})), Catch::Contains("op 0 (0B0): F of the same stage"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0 0W0 0I0"})), Catch::Contains("op 1 (0W0): I of the same stage"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0 0B0 1F0"})), Catch::Contains("there are 1 stages and 1 micro-batches"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0", "0B0"})), Catch::Contains("rank 1, op 0 (0B0): rank 0 works on this"));
  CHECK_THAT(verdict(schedule_of(1, 1, {"+0F0 0B0"})), Catch::Contains("a deadlock"));  // a pair cannot wait for itself
  CHECK_THAT(verdict(schedule_of(1, 1, {"0F0 +0B0"})), Catch::Contains("only a forward with a backward"));
  CHECK_THAT(verdict(schedule_of(0, 1, {})), Catch::Contains("without ranks"));
}

TEST_CASE("verify_schedule finds ranks that wait for each other, and says for what") {
  // Rank 0 wants the gradient of micro-batch 0 before it sends the activations of 1, rank 1 the other way round.
  const std::string said = verdict(schedule_of(2, 2, {"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"}));
  CHECK_THAT(said, Catch::Contains("rank 0, op 1 (0B0): a deadlock"));
  CHECK_THAT(said, Catch::Contains("rank 0 waits before 0B0 for the gradient of stage 1, micro-batch 0 from rank 1"));
  CHECK_THAT(said,
             Catch::Contains("rank 1 waits before 1F1 for the activations of stage 0, micro-batch 1 from rank 0"));
}

TEST_CASE("verify_schedule accepts moves of activations that follow their forward only") {
  PipelineSchedule schedule = schedule_of(2, 1, {"0F0 0B0", "1F0 1B0"});
  const PipelineOp forward = schedule.orders[0][0];
  schedule.moves = {{.from = RankId(0), .to = RankId(1), .after = forward}};
  CHECK(verdict(schedule).empty());
  schedule.moves = {{.from = RankId(1), .to = RankId(0), .after = forward}};
  CHECK_THAT(verdict(schedule), Catch::Contains("activations moved after 0F0: from rank 1 to rank 0"));
  schedule.moves = {{.from = RankId(0), .to = RankId(1), .after = schedule.orders[0][1]}};
  CHECK_THAT(verdict(schedule), Catch::Contains("no such forward"));
}

}  // namespace plimsoll
