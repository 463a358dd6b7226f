#include <catch2/catch.hpp>

#include "core/schedule/verify_schedule.h"
#include "formats/schedules/action_text.h"
#include "formats/schedules/schedule_file.h"

namespace plimsoll {
namespace {

std::string csv_error(std::string_view text) {
  const auto read = read_schedule_csv(text, "orders.csv");
  return read ? "" : read.error().text();
}

std::string json_error(std::string_view text) {
  const auto read = read_schedule_json(text, "orders.json");
  return read ? "" : read.error().text();
}

}  // namespace

TEST_CASE("orders come back from CSV as they were written, pairs included") {
  const std::string text = "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n1F0,1I0,1W0,1F1,1F2,1B1,1B2\n";
  const PipelineSchedule schedule = read_schedule_csv(text, "orders.csv").value();
  CHECK(schedule.stages == 2);
  CHECK(schedule.micro_batches == 3);
  CHECK(schedule.orders[0][2].with_next);
  CHECK(schedule_csv(schedule) == text);
  CHECK(verify_schedule(schedule));
}

TEST_CASE("idle steps, quotes, line ends of Windows and communication say nothing about the order") {
  const PipelineSchedule plain = read_schedule_csv("0F0,0B0\n1F0,1B0\n", "a").value();
  for (const char* text : {"0F0,,,,0B0\n,1F0,1B0,\n", "0F0,0B0\r\n1F0,1B0\r\n", "\"0F0\", 0B0\n1F0,1B0",
                           "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1RESHARD\n"}) {
    INFO(text);
    CHECK(read_schedule_csv(text, "b").value().orders == plain.orders);
  }
}

TEST_CASE("a cell that cannot be read is named by line and place") {
  using Catch::Contains;
  CHECK_THAT(csv_error("0F0,0B0\n1F0,1Q0\n"), Contains("orders.csv:2, cell 2: '1Q0' is no op"));
  CHECK_THAT(csv_error("0F0,(0F1;0W0)OVERLAP_F_B\n"),
             Contains("orders.csv:1, cell 2") && Contains("no overlapped pair"));
  CHECK_THAT(csv_error("(0F0;0B0\n"), Contains("no overlapped pair"));
  CHECK_THAT(csv_error("rank,order\n"), Contains("orders.csv:1, cell 1: 'rank' is no op"));
  CHECK_THAT(csv_error("0SEND_X0\n"), Contains("is no op"));
}

TEST_CASE("orders come from JSON with their weights and moves, and faults are named by key") {
  using Catch::Contains;
  const auto read = read_schedule_json(
      R"({"name":"mine","weights":"stash","orders":[["0F0","0B0"],["1F0","1B0"]],"moves":[{"after":"0F0","from":0,"to":1}]})",
      "orders.json");
  REQUIRE(read);
  CHECK(read->name == "mine");
  CHECK(read->weights == WeightRule::kStash);
  CHECK(read->moves.size() == 1);
  CHECK(verify_schedule(*read));
  CHECK_THAT(json_error(R"({"orders":[["0F0","0X0"]]})"), Contains("'0X0' is no op") && Contains("orders.json at "));
  CHECK_THAT(json_error(R"({"orders":[[7]]})"), Contains("orders.json at "));
  CHECK_THAT(json_error(R"({"order":[]})"), Contains("orders"));
  CHECK_THAT(json_error(R"({"orders":[["0F0")"), Contains("orders.json"));
}

}  // namespace plimsoll
