#include "sim/parallel/two_level_exchange.h"

#include <algorithm>
#include <cmath>

#include "sim/parallel/collectives.h"
#include "tests/sim/parallel/training.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

constexpr TwoLevelGating kTwo{.groups = 2, .experts_per_group = 8, .groups_per_token = 1, .experts_per_chosen = 2};

/// 16 experts of which a token takes two, on two nodes of 8 GPUs.
ParallelQuestion mixture_on_two_nodes() {
  ParallelQuestion question = gpt_on(16);
  question.spec = *resolve_model("gpt:layers=8,hidden=1024,heads=16,vocab=32768,positions=1024,experts=16,top-k=2");
  question.layout = {.data_ranks = 16, .expert_ranks = 16, .global_batch = 16};
  return question;
}

std::string refusal(const ExpertSpec& experts, std::int64_t ranks, GroupChoice choice) {
  const auto gating = two_level_gating(experts, {.data_ranks = ranks, .expert_ranks = ranks}, choice);
  REQUIRE_FALSE(gating);
  CHECK(gating.error().where == "--gating");
  return gating.error().what;
}

}  // namespace

TEST_CASE("between groups a token goes once, inside its group once to each expert") {
  Cluster cluster = gpt_on(16).cluster;
  cluster.inside = {.rate = 100e9, .latency = 0};
  cluster.network = LinkLevel{.rate = 10e9, .latency = 0};
  const ParallelLayout layout{.data_ranks = 16, .expert_ranks = 16};
  const TwoLevelExchange way = two_level_exchange(kTwo, 8e6, 1, layout, cluster);
  // A rank has 8 MB of tokens. Half of them go to the other of two groups, over the network: 4e6 / 10e9 = 0.4 ms.
  CHECK(way.between == Approx(0.4e-3));
  // Of twice 8 MB, seven eighths go to other ranks of the group's 8, on one node: 14e6 / 100e9 = 0.14 ms.
  CHECK(way.within == Approx(0.14e-3));
  CHECK(way.seconds() == Approx(0.54e-3));
  CHECK(two_level_exchange(kTwo, 8e6, 1.5, layout, cluster).seconds() == Approx(0.81e-3));
  // One gate for all sends each of twice 8 MB to the other node with probability 1/2: 8e6 / 10e9 = 0.8 ms.
  CHECK(seconds_of(Collective::kAllToAll, 16e6, expert_group(layout, cluster), cluster) == Approx(0.8e-3));
}

TEST_CASE("loads of groups and of experts in them vary as binomial and hypergeometric choices do") {
  // 1024 tokens, each in 1 of 2 groups: 512 visitors of variance 256. Of 2 experts out of 8 a rank with one has 1/4 in the
  // mean, of variance 2 · 1/8 · 7/8 · 6/7 = 3/16. Load: mean 128, variance 512 · 3/16 + 256 / 16 = 112.
  const TwoLevelLoad load = two_level_load(kTwo, 1024, 16);
  CHECK(load.deviation == Approx(std::sqrt(112.0) / 128));
  CHECK(load.fullest == Approx(1 + std::sqrt(2 * std::log(16.0)) * load.deviation));
  // All of 16 stay below Φ⁻¹(0.95^(1/16)) = Φ⁻¹(0.9967993) = 2.7265 deviations in 95 of 100 cases.
  CHECK(load.seldom == Approx(1 + 2.7265 * load.deviation).epsilon(1e-4));
  // Tokens that go to every group, and there to every expert, leave nothing to chance.
  const TwoLevelGating all{.groups = 2, .experts_per_group = 2, .groups_per_token = 2, .experts_per_chosen = 2};
  CHECK(two_level_load(all, 1024, 4).deviation == 0);
  CHECK(two_level_load(kTwo, 1024, 1).fullest == 1);
}

TEST_CASE("a capacity of the mean refuses 0.4 deviations, a larger one less") {
  const TwoLevelLoad load{.deviation = 0.1};
  CHECK(load.refused(1) == Approx(0.1 * 0.398942));            // E[max(0, z)] = 1 / √(2π)
  CHECK(load.refused(1.2) == Approx(0.1 * 0.0084907).epsilon(1e-4));  // φ(2) − 2 Q(2) = 0.0539910 − 2 · 0.0227501
  CHECK(TwoLevelLoad{}.refused(1.25) == 0);
  CHECK(TwoLevelLoad{}.refused(0.75) == 0.25);
}

TEST_CASE("groups on nodes exchange faster where bytes count, one gate where latencies do") {
  ParallelQuestion question = mixture_on_two_nodes();
  const auto exchanged = [&](std::int64_t sequences, std::optional<GroupChoice> groups) {
    question.layout.micro_batch = sequences;
    question.layout.global_batch = 16 * sequences;
    question.choices.groups = groups;
    return answer_of(question).ranks[0].seconds.expert_sends;
  };
  // 64 MiB of tokens a rank: 32 over the network instead of 64, and then some inside. Of 2 MiB a third latency takes longer.
  CHECK(exchanged(32, GroupChoice{.groups = 2, .chosen = 1}) < exchanged(32, {}));
  CHECK(exchanged(1, GroupChoice{.groups = 2, .chosen = 1}) > exchanged(1, {}));
}

TEST_CASE("two gates hold what one holds, and the answer says how even they are") {
  ParallelQuestion question = mixture_on_two_nodes();
  const ParallelAnswer one = answer_of(question);
  question.choices.groups = GroupChoice{.groups = 2, .chosen = 1};
  const ParallelAnswer two = answer_of(question);
  CHECK(two.ranks[0].memory.parameters == one.ranks[0].memory.parameters);
  CHECK(two.ranks[0].memory.optimizer == one.ranks[0].memory.optimizer);
  CHECK(std::any_of(two.assumed.begin(), two.assumed.end(),
                    [](const std::string& note) { return note.find("experts in 2 groups of 8") != std::string::npos; }));
}

TEST_CASE("groups that nothing divides by are refused by name") {
  const ExpertSpec experts{.count = 16, .per_token = 2};
  CHECK_THAT(refusal({}, 16, {.groups = 2}), Catch::Contains("the model has none"));
  CHECK_THAT(refusal(experts, 16, {.groups = 2, .chosen = 3}), Catch::Contains("3 of 2 groups"));
  CHECK_THAT(refusal(experts, 16, {.groups = 3}), Catch::Contains("16 experts"));
  CHECK_THAT(refusal({.count = 16, .per_token = 3}, 16, {.groups = 4, .chosen = 2}), Catch::Contains("a token's 3 experts"));
  CHECK_THAT(refusal(experts, 2, {.groups = 4}), Catch::Contains("2 expert ranks"));
  CHECK_THAT(refusal(experts, 16, {.groups = 16, .chosen = 1}), Catch::Contains("cannot choose 2"));
}
