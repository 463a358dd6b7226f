#include "core/plan/order_ranks.h"

#include <catch2/catch.hpp>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "tests/ranks/tiny_job.h"

namespace plimsoll {
namespace {

using test::tiny_job;

const char* const kSchedules[] = {"naive", "gpipe", "1f1b",   "interleaved", "looped-bfs", "zb-h1",
                                  "zb-h2", "zb-v",  "v-half", "v-min",       "dualpipe-v", "hanayo"};

/// Two ranks that send each other one message on each of two channels, each rank's instructions on one queue.
struct Talk {
  std::vector<ExchangeKind> kinds;
  std::vector<std::uint32_t> channels;
};

Plan talker(std::uint32_t rank, const Talk& talk) {
  Plan plan{.spec = tiny_spec(), .recipe = tiny_recipe(), .rank = rank, .ranks = 2};
  plan.platform.name = "two memories";
  plan.platform.spaces.push_back({.name = "memory", .kind = SpaceKind::kDevice, .capacity = kMiB, .usable = kMiB});
  plan.platform.queues.push_back({.name = "messages", .kind = QueueKind::kCommunication});
  plan.arenas.push_back({SpaceId(0), Bytes(1024)});
  FlatBody body;
  for (std::uint32_t i = 0; i < talk.kinds.size(); ++i) {
    plan.buffers.push_back({.name = "message", .space = SpaceId(0), .offset = Bytes(256 * i), .bytes = Bytes(64)});
    plan.exchanges.push_back({.kind = talk.kinds[i], .channel = talk.channels[i], .ranks = {1 - rank}});
    const bool sends = talk.kinds[i] == ExchangeKind::kSend;
    body.list.uses.push_back({.target = i, .access = sends ? Access::kRead : Access::kWrite, .bytes = Bytes(64)});
    body.list.instructions.push_back(
        {.kind = InstructionKind::kCollective, .queue = QueueId(0), .first_use = i, .use_count = 1, .exchange = ExchangeId(i)});
    body.micro_batches.push_back(0);
  }
  plan.bodies.push_back(fold(plan, "step", body, std::vector<Segment>{{0, 0, -1, "talk"}}));
  return plan;
}

}  // namespace

TEST_CASE("the plans of every flush schedule's ranks obey the law and go together") {
  for (const char* schedule : kSchedules) {
    for (const std::uint32_t ranks : {2u, 4u}) {
      INFO(schedule << " over " << ranks);
      const std::uint32_t micro_batches = std::string(schedule) == "naive" ? 1 : 8;
      const auto plans = test::plans_of(tiny_job({.schedule = schedule, .ranks = ranks, .micro_batches = micro_batches}));
      const auto order = order_ranks(plans);
      REQUIRE(order);
      std::size_t instructions = 0, exchanges = 0;
      for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        instructions += order->bodies[rank].size();
        for (const auto& others : order->others[rank]) exchanges += others.empty() ? 0 : 1;
      }
      CHECK(order->order.size() == instructions + exchanges);
      CHECK(exchanges > 0);
    }
  }
}

TEST_CASE("two ranks that both send first and receive then would wait for ever, and are named") {
  using enum ExchangeKind;
  const std::vector<Plan> plans{talker(0, {{kSend, kReceive}, {1, 2}}), talker(1, {{kSend, kReceive}, {2, 1}})};
  for (const Plan& plan : plans) {
    const auto verified = verify_plan(plan);
    INFO((verified ? "" : verified.error().text()));
    REQUIRE(verified);
  }
  const auto order = order_ranks(plans);
  REQUIRE_FALSE(order);
  CHECK(order.error().what.find("for ever") != std::string::npos);
  CHECK(order.error().what.find("rank 0") != std::string::npos);
  CHECK(order.error().what.find("rank 1") != std::string::npos);
  const std::vector<Plan> polite{talker(0, {{kSend, kReceive}, {1, 2}}), talker(1, {{kReceive, kSend}, {1, 2}})};
  CHECK(order_ranks(polite));
}

TEST_CASE("a message that nobody receives is refused") {
  using enum ExchangeKind;
  const std::vector<Plan> plans{talker(0, {{kSend, kSend}, {1, 1}}), talker(1, {{kReceive}, {1}})};
  const auto order = order_ranks(plans);
  REQUIRE_FALSE(order);
  CHECK(order.error().what.find("rank 0 has 2 instructions of it, rank 1 has 1") != std::string::npos);
}

TEST_CASE("ends of a message that differ in bytes or micro-batch are refused") {
  std::vector<Plan> plans = test::plans_of(tiny_job({}));
  const auto change = [&](auto how) {
    std::vector<Plan> changed = plans;
    how(changed[1]);
    return order_ranks(changed);
  };
  const auto later = change([](Plan& plan) {
    for (Call& call : plan.bodies[0].calls) {
      const bool receives = plan.at(call.block).name == "receive";
      if (receives && call.micro_batch < 2) call.micro_batch = 1 - call.micro_batch;
    }
  });
  REQUIRE_FALSE(later);
  CHECK(later.error().what.find("micro-batch") != std::string::npos);
  const auto foreign = change([](Plan& plan) { plan.recipe.seed = 99; });
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().what == "rank 1 trains something else than rank 0");
}

TEST_CASE("a rank's plan is the same after it was written and read") {
  for (const Plan& plan : test::plans_of(tiny_job({.replicas = 2, .zero = 1}))) {
    const std::string text = write_plan(plan);
    const auto read = read_plan(text, "plan");
    INFO((read ? "" : read.error().text()));
    REQUIRE(read);
    CHECK(read->rank == plan.rank);
    CHECK(read->exchanges == plan.exchanges);
    CHECK(write_plan(*read) == text);
  }
}

TEST_CASE("a receive into memory that a kernel still reads is refused") {
  Plan plan = test::plans_of(tiny_job({})).back();
  for (Block& block : plan.blocks) {
    if (block.name != "receive") continue;
    for (Instruction& instruction : block.list.instructions) instruction.dependency_count = 0;
  }
  CHECK_FALSE(verify_plan(plan));
}

TEST_CASE("degrees that do not divide the blocks are named, with those that do") {
  RankJob job = tiny_job({.ranks = 4});
  job.spec.layers = 6;
  const auto plans = lower_ranks(job);
  REQUIRE_FALSE(plans);
  CHECK(plans.error().what == "the 6 blocks of tiny do not divide into 4 equal stages (1f1b over 4 ranks)");
  CHECK(plans.error().remedy == "take a number of stages that divides them: 1, 2, 3, 6, or say --stage-blocks");
}

}  // namespace plimsoll
