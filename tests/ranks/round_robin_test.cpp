// Stages of different numbers of ranks, which micro-batches go round (PipeDream, SOSP 2019, section 3.2), against the
// rule written down once more: one rank that takes each micro-batch's gradient at chosen versions of the weights.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/schedule/verify_schedule.h"
#include "sim/planner/ranks/lower_ranks.h"
#include "sim/schedule/stage_memory.h"
#include "sim/schedule/time_schedule.h"
#include "tests/ranks/one_rank_reference.h"

namespace plimsoll {
namespace {

using test::by_ranks, test::distance, test::Left, test::OneRank, test::Weights;
using Counts = std::vector<std::uint32_t>;

RankJob job_of(const Counts& replicas, bool vertical_sync = false, const Counts& blocks = {}) {
  const auto stages = static_cast<std::uint32_t>(replicas.size());
  const auto round = static_cast<std::uint32_t>(common_round(replicas));
  RankJob job = test::tiny_job({.layers = stages == 3 ? 3 : 4, .family = Family::kLlama});
  auto schedule = make_schedule({.name = "pipedream",
                                 .ranks = stages,
                                 .micro_batches = round * (2 + first_rank_of(replicas, stages)),
                                 .vertical_sync = vertical_sync,
                                 .replicas = replicas});
  if (!schedule) FAIL(schedule.error().text());
  job.schedule = *schedule;
  job.stage_blocks = blocks;
  job.recipe.optimizer = OptimizerKind::kSgd;
  job.recipe.learning_rate = 0.05;
  job.recipe.weight_decay = 0;
  job.recipe.clip = 0;
  job.recipe.accumulate = round;
  job.evaluation = true;
  return job;
}

/// Steps of one micro-batch each have those of steps of `round`, one after another.
class OneByOne final : public BatchSource {
 public:
  explicit OneByOne(std::int64_t round) : round_(round) {}
  [[nodiscard]] Result<void> check(const ModelSpec& spec, const Recipe& recipe) const override {
    return kText.check(spec, recipe);
  }
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override {
    kText.fill({place.seed, place.step / round_, place.step % round_, round_}, recipe, parts);
  }

 private:
  std::int64_t round_;
};

/// Micro-batch m is passed at the newest version that its stage had n rounds before, n + 1 of them being in flight;
/// every round of a stage's r ranks is one update, by the sum of its gradients over the first stage's ranks: w(u + 1) =
/// w(u) - rate / r0 * (g(u r) + ... + g(u r + r - 1)).
Left by_rounds(const Counts& replicas, std::int64_t steps, bool vertical_sync = false, const Counts& blocks = {}) {
  RankJob job = job_of(replicas, false, blocks);
  const auto round = job.recipe.accumulate;
  job.recipe.accumulate = 1;
  OneRank one(job);
  const std::vector<std::uint32_t> stage_of = test::cut_of(job).stage_of_group;
  const auto ahead = [&](std::size_t stage) {
    std::int64_t ranks = 0;
    for (std::size_t s = stage; s < replicas.size(); ++s) ranks += replicas[s];
    return (ranks + replicas[stage] - 1) / replicas[stage] - 1;
  };
  std::vector<Weights> versions;  // of each group
  for (auto& group : one.weights()) versions.push_back({group});
  Weights sums = one.weights();
  Left left;
  for (std::int64_t m = 0; m < steps * round; ++m) {
    Weights seen;
    for (std::size_t g = 0; g < versions.size(); ++g) {
      const std::int64_t own = replicas[stage_of[g]], first = replicas[0];
      const std::int64_t version = vertical_sync ? (m / first - ahead(0)) * first / own : m / own - ahead(stage_of[g]);
      seen.push_back(versions[g][static_cast<std::size_t>(std::max<std::int64_t>(0, version))]);
      if (m % own == 0) std::fill(sums[g].begin(), sums[g].end(), 0.0f);
    }
    const double loss = one.step(m, seen, OneByOne(round)) / static_cast<double>(round);
    if (m % round == 0) left.losses.push_back(0);
    left.losses.back() += loss;
    const Weights moved = one.weights();
    for (std::size_t g = 0; g < versions.size(); ++g) {
      for (std::size_t i = 0; i < seen[g].size(); ++i)
        sums[g][i] += (moved[g][i] - seen[g][i]) / static_cast<float>(replicas[0]);
      if ((m + 1) % replicas[stage_of[g]] != 0) continue;
      versions[g].push_back(versions[g].back());
      for (std::size_t i = 0; i < sums[g].size(); ++i) versions[g].back()[i] += sums[g][i];
    }
  }
  for (const auto& of_group : versions) left.weights.push_back(of_group.back());
  return left;
}

std::vector<std::string> texts_of(const std::vector<PipelineOp>& order) {
  std::vector<std::string> texts;
  for (const PipelineOp& op : order) texts.push_back(to_text(op));
  return texts;
}

void check_close(const Left& found, const Left& expected) {
  REQUIRE(found.losses.size() == expected.losses.size());
  for (std::size_t i = 0; i < found.losses.size(); ++i)
    CHECK(found.losses[i] == Approx(expected.losses[i]).epsilon(2e-6));
  CHECK(distance(found.weights, expected.weights) < 2e-6);
}

}  // namespace

TEST_CASE("micro-batches go round a stage's ranks in the order made by hand") {
  // Two ranks, then one. Three ranks from the first stage on, two of them its own: 3 / 2, rounded up, is 2 in flight
  // each, so one ahead. The last stage's one rank has 1 in flight. Micro-batch m goes to rank m mod 2 there, and to the
  // one here.
  const auto two_one = make_schedule({.name = "pipedream", .ranks = 2, .micro_batches = 4, .replicas = {2, 1}});
  REQUIRE(two_one);
  REQUIRE(two_one->ranks() == 3);
  CHECK(texts_of(two_one->orders[0]) == std::vector<std::string>{"0F0", "0F2", "0B0", "0B2"});
  CHECK(texts_of(two_one->orders[1]) == std::vector<std::string>{"0F1", "0F3", "0B1", "0B3"});
  CHECK(texts_of(two_one->orders[2]) ==
        std::vector<std::string>{"1F0", "1B0", "1F1", "1B1", "1F2", "1B2", "1F3", "1B3"});
  // One rank, then two: 3 / 1 in flight at the first, two ahead; 2 / 2 at the others.
  const auto one_two = make_schedule({.name = "pipedream", .ranks = 2, .micro_batches = 4, .replicas = {1, 2}});
  REQUIRE(one_two);
  CHECK(texts_of(one_two->orders[0]) ==
        std::vector<std::string>{"0F0", "0F1", "0F2", "0B0", "0F3", "0B1", "0B2", "0B3"});
  CHECK(texts_of(one_two->orders[2]) == std::vector<std::string>{"1F1", "1B1", "1F3", "1B3"});
}

TEST_CASE("two ranks of a stage of twice the work, then one, are timed as by hand") {
  // F, B of 2 and 4, then of 1 and 2. The last rank: F0 2-3, B0 3-5, F1 5-6, B1 6-8, F2 8-9, B2 9-11, F3 11-12, B3
  // 12-14. The first: F0 0-2, F2 2-4, B0 5-9, B2 11-15; the second: F1 0-2, F3 2-4, B1 8-12, B3 14-18.
  const auto schedule = make_schedule({.name = "pipedream", .ranks = 2, .micro_batches = 4, .replicas = {2, 1}});
  REQUIRE(schedule);
  const auto costs = uneven_costs({{2, 2, 2, 0}, {1, 1, 1, 0}}, {2, 2, 4});
  REQUIRE(costs);
  CHECK(costs->units(time_schedule(*schedule, *costs).makespan) == 18);
}

TEST_CASE("round-robin orders of any counts train and come to an end") {
  for (std::uint32_t i = 0; i < 125; ++i) {
    const Counts replicas{1 + i % 5, 1 + i / 5 % 5, 1 + i / 25};
    const auto round = static_cast<std::uint32_t>(common_round(replicas));
    const auto schedule =
        make_schedule({.name = "pipedream", .ranks = 3, .micro_batches = 2 * round, .replicas = replicas});
    INFO(fmt::format("{}", fmt::join(replicas, "-")));
    REQUIRE(schedule);
    CHECK(schedule->ranks() == replicas[0] + replicas[1] + replicas[2]);
    CHECK(verify_schedule(*schedule));
  }
}

TEST_CASE("stages of different numbers of ranks follow PipeDream's rule, update by update") {
  for (const Counts& replicas :
       {Counts{2, 1}, Counts{1, 2}, Counts{3, 1}, Counts{2, 1, 1}, Counts{1, 2, 1}, Counts{2, 3}}) {
    INFO(fmt::format("{}", fmt::join(replicas, "-")));
    check_close(by_ranks(job_of(replicas), {5}), by_rounds(replicas, 5));
  }
}

TEST_CASE("a stage of twice as many blocks on twice as many ranks follows the same rule") {
  const auto rule = by_rounds({2, 1}, 4, false, {3, 1});
  check_close(by_ranks(job_of({2, 1}, false, {3, 1}), {4}), rule);
  CHECK(distance(rule.weights, by_rounds({2, 1}, 4).weights) >
        1e-5);  // where blocks are decides which versions they see
  const auto refused = lower_ranks(job_of({2, 1}, false, {3, 2}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("--stage-blocks 3,2: 5 blocks, and") == 0);
}

TEST_CASE("counts that are all equal train, bit for bit, what as many replicas of a pipeline do") {
  for (const std::uint32_t count : {1u, 2u}) {
    RankJob round = job_of({count, count});
    round.recipe.optimizer = OptimizerKind::kAdamW;
    RankJob replicas = round;
    const auto schedule = make_schedule({.name = "pipedream", .ranks = 2, .micro_batches = 4});
    REQUIRE(schedule);
    replicas.schedule = *schedule;
    replicas.replicas = count;
    const Left found = by_ranks(round, {5}), expected = by_ranks(replicas, {5});
    CHECK(found.losses == expected.losses);
    CHECK(found.weights == expected.weights);
  }
}

TEST_CASE("with vertical sync they take what the first stage's version holds, and no more") {
  for (const Counts& replicas : {Counts{2, 1}, Counts{1, 2}, Counts{2, 1, 1}}) {
    INFO(fmt::format("{}", fmt::join(replicas, "-")));
    const Left ruled = by_rounds(replicas, 5, true);
    check_close(by_ranks(job_of(replicas, true), {5}), ruled);
    CHECK(distance(ruled.weights, by_rounds(replicas, 5).weights) > 1e-5);  // the rules are told apart
  }
}

TEST_CASE("neither pauses nor delays change a bit of what such stages train") {
  const RankJob job = job_of({2, 1, 1});
  const Left whole = by_ranks(job, {6});
  for (const Left& other : {by_ranks(job, {6}, 2), by_ranks(job, {6}, 100, 5)}) {
    CHECK(other.losses == whole.losses);
    CHECK(other.weights == whole.weights);
  }
}

TEST_CASE("all replicas of a stage end with the same weights, and keep the versions that the schedule says") {
  // 2-1-1: one round in flight beyond the current one at the first two stages, none at the last.
  const RankJob job = job_of({2, 1, 1});
  CHECK(weight_versions(job.schedule) == Counts{2, 2, 2, 1});
  const std::vector<Plan> plans = test::plans_of(job);
  for (const Plan& plan : plans) {
    Bytes weights, all;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.category != TensorKind::kParameter) continue;
      all += buffer.bytes * buffer.slots;
      weights += buffer.name.starts_with("older") ? Bytes(0) : buffer.bytes;
    }
    CHECK(all.count == weights.count * weight_versions(job.schedule)[plan.rank]);
  }
}

TEST_CASE("counts that cannot be are refused by name") {
  const auto what = [](const Counts& replicas, const std::string& name = "pipedream",
                       std::uint32_t micro_batches = 12) {
    const auto made = make_schedule({.name = name, .ranks = 2, .micro_batches = micro_batches, .replicas = replicas});
    return made ? std::string() : made.error().what;
  };
  CHECK(what({2, 1}).empty());
  CHECK(what({2, 1, 1}) == "3 counts, 2,1,1, for 2 stages");
  CHECK(what({2, 0}) == "a stage without a rank in 2,0");
  CHECK(what({3, 1}, "pipedream", 2) == "2 micro-batches for the 3 replicas of a stage");
  CHECK(what({2, 3}, "pipedream", 8) == "8 micro-batches do not go round 2,3 replicas of the stages in whole rounds");
  CHECK(what({2, 1}, "1f1b") == "replicas of each stage by itself are of the schedule pipedream, not of 1f1b");
  RankJob tied = job_of({2, 1});
  tied.spec = tiny_spec(Family::kGpt2);
  tied.spec.layers = 4;
  const auto refused = lower_ranks(tied);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("tied to the embedding") != std::string::npos);
}

}  // namespace plimsoll
