#include "sim/planner/search_plan.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include <random>
#include <utility>

#include "core/graph/op.h"
#include "core/graph/optimizer_state.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/placement_bound.h"
#include "sim/planner/refine_candidates.h"
#include "sim/planner/strategy_moves.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

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

TEST_CASE("what the search remembers of a step is what each of its strategies comes to by itself") {
  const Bytes resident = search(tiny_platform()).candidates.front().needs[0].needed;
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const Platform platform = capped(Bytes(resident.count * 6 / 10));
  const PlainCosts costs;
  const SearchProblem forgetful{spec, recipe, platform, costs};
  const SearchResult result = search(platform);
  std::size_t whole = 0;
  for (const Candidate& candidate : result.candidates) {
    if (candidate.glanced || !candidate.step) continue;
    const Candidate alone = try_strategy(forgetful, candidate.strategy, {.tight = true}).value();
    CHECK(alone.step == candidate.step);
    for (std::size_t i = 0; i < alone.needs.size(); ++i) CHECK(alone.needs[i].needed == candidate.needs[i].needed);
    ++whole;
  }
  CHECK(whole > 20);
}

/// Updates of fewer operations than `most` take a thousand seconds, and a byte on a link 1 us.
class SlowUpdates final : public CostModel {
 public:
  explicit SlowUpdates(double most) : most_(most) {}
  Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    const bool slow = is_update(kernel.kind) && flops_of(kernel.kind, kernel.shape) < most_;
    return exact(slow ? from_seconds(1000) : Nanoseconds(1));
  }
  Result<Cost> transfer(const Platform&, const Link&, Bytes bytes) const override {
    return exact(Nanoseconds(1000 * bytes.count));
  }
  Result<Cost> host_work(const Processor&, HostTask, Bytes) const override { return exact(Nanoseconds(1)); }
  Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return Nanoseconds(0); }
  std::string source() const override { return "slow updates"; }

 private:
  static Cost exact(Nanoseconds time) { return {time, time, time, CostOrigin::kMeasured}; }
  double most_;
};

TEST_CASE("the floor of updates holds where the CPU updates only the group whose update takes it least") {
  // The device has room for the states of all groups but the largest, and the CPU updates that one in no time: how slow
  // it is with the others makes no difference.
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const Graph graph = build_training_graph(spec, recipe);
  Bytes all, largest;
  for (const ParameterGroup& group : graph.parameters.groups) {
    const Bytes own = bytes_of_state(recipe, group, TensorKind::kParameter);
    const Bytes master = bytes_of_state(recipe, group, TensorKind::kMaster);
    const Bytes states = std::max(own, master) + bytes_of_state(recipe, group, TensorKind::kFirstMoment) +
                         bytes_of_state(recipe, group, TensorKind::kSecondMoment);
    all += states;
    largest = std::max(largest, states);
  }
  Plan plan{.spec = spec, .recipe = recipe, .platform = capped(all - largest)};
  for (Resource& resource : plan.platform.resources) resource.capacity = 0;
  double most = 0;
  for (const Op& op : graph.ops) {
    if (is_update(op.kind)) most = std::max(most, static_cast<double>(flops_of(op.kind, op.shape)));
  }
  const auto bound = placement_bound(plan, graph, SlowUpdates(most), Nanoseconds(1));
  REQUIRE(bound);
  CHECK(*bound > Nanoseconds(1));
  CHECK(*bound == placement_bound(plan, graph, SlowUpdates(0), Nanoseconds(1)).value());
}

TEST_CASE("no strategy's step passes the floor of what must be moved and updated, wherever memory is short") {
  const Bytes resident = search(tiny_platform()).candidates.front().needs[0].needed;
  bool moved = false;
  for (const std::int64_t percent : {100, 60, 40, 20}) {
    for (const double slower : {1.0, 30.0, 3000.0}) {
      Platform platform = capped(Bytes(resident.count * percent / 100));
      for (Link& link : platform.links) link.bytes_per_second /= slower;
      for (Resource& resource : platform.resources) resource.capacity /= slower;
      const SearchResult result = search(platform);
      if (!result.plan) continue;
      const LowerBound bound = lower_bound(*result.plan, PlainCosts()).value();
      INFO(percent << " % of the memory, links slower by " << slower);
      for (const Candidate& other : result.candidates) {
        if (other.fits() && other.step && !other.glanced) CHECK(bound.step <= *other.step);
      }
      Plan roomy = *result.plan;
      roomy.platform.spaces[0].usable = Bytes(std::int64_t{1} << 50);
      const LowerBound compute = lower_bound(roomy, PlainCosts()).value();
      CHECK(compute.step <= bound.step);
      moved = moved || compute.step < bound.step;
    }
  }
  CHECK(moved);
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

TEST_CASE("the plan that is found is never worse than any named starting point") {
  const Bytes resident = search(tiny_platform()).candidates.front().needs[0].needed;
  for (const std::int64_t percent : {100, 80, 60, 45, 35, 25}) {
    const Platform platform = capped(Bytes(resident.count * percent / 100));
    const SearchResult refined = search(platform);
    const SearchResult named =
        search_plan(small_model(Family::kGpt2), small_recipe(), platform, PlainCosts(), {.refine = false}).value();
    INFO(percent << " % of what the resident plan needs");
    CHECK_FALSE(better(named.candidates.front(), refined.candidates.front()));
  }
}

TEST_CASE("the search finds plans that no starting point is: one that fits where none does, one that is faster") {
  const ModelSpec spec = small_model(Family::kGpt2, 16);
  const auto found = [&](Bytes device, std::int64_t accumulate, bool refine) {
    return search_plan(spec, small_recipe(accumulate), capped(device), PlainCosts(), {.refine = refine}).value();
  };
  // Streamed weights with two slots need a second block's weights on the device. With one slot they do not, and every transfer
  // is waited for; with one block's input, 8192 bytes, waiting in host memory the second slot has room.
  // The starting point that fits has all 16 blocks' inputs wait there.
  const SearchResult start = found(400 * kKiB, 1, false), tight = found(400 * kKiB, 1, true);
  REQUIRE(start.plan);
  CHECK(start.plan->strategy.activation_blocks == 16);
  REQUIRE(tight.plan);
  CHECK(tight.prediction->step < start.prediction->step);
  CHECK(tight.plan->strategy.staging_slots == 2);
  CHECK(tight.plan->strategy.activations == Tier::kHost);
  CHECK(tight.plan->strategy.activation_blocks == 1);
  const auto one_slot = std::find_if(tight.candidates.begin(), tight.candidates.end(), [](const Candidate& candidate) {
    return candidate.step && candidate.strategy.staging_slots == 1 && candidate.strategy.activations == Tier::kDevice;
  });
  REQUIRE(one_slot != tight.candidates.end());
  CHECK(tight.prediction->step < *one_slot->step);
  CHECK_FALSE(found(300 * kKiB, 1, false).plan);
  CHECK(found(300 * kKiB, 1, true).plan);
  // Sums of gradients on the CPU take as long as backward, so a third slot lets it run ahead.
  CHECK(found(1000 * kKiB, 4, true).prediction->step < found(1000 * kKiB, 4, false).prediction->step);
}

TEST_CASE("the answer does not depend on the number of threads") {
  const Platform platform = capped(Bytes(600'000));
  std::vector<SearchResult> results;
  for (const unsigned threads : {1u, 2u, 5u}) {
    results.push_back(
        search_plan(small_model(Family::kGpt2), small_recipe(2), platform, PlainCosts(), {.threads = threads}).value());
    const SearchResult& first = results.front();
    const SearchResult& now = results.back();
    REQUIRE(now.candidates.size() == first.candidates.size());
    for (std::size_t i = 0; i < now.candidates.size(); ++i) {
      CHECK(now.candidates[i].strategy == first.candidates[i].strategy);
      CHECK(now.candidates[i].step == first.candidates[i].step);
    }
  }
}

TEST_CASE("every candidate has its family's name, and one family's search stays in it") {
  for (const Strategy& strategy : all_candidate_strategies(12, Precision::kFp32)) CHECK(strategy.name == family_of(strategy));
  for (const std::string& name : family_names()) {
    const SearchResult result = search(tiny_platform(), name);
    REQUIRE_FALSE(result.candidates.empty());
    for (const Candidate& candidate : result.candidates) {
      CHECK(candidate.strategy.name == name);
      CHECK(family_of(candidate.strategy) == name);
    }
  }
}

TEST_CASE("no candidate is faster than the lower bound or needs less than what lives together on its device") {
  const SearchResult result = search(tiny_platform());
  const LowerBound bound = lower_bound(*result.plan, PlainCosts()).value();
  for (const Candidate& candidate : result.candidates) {
    INFO(candidate.strategy.name << ": " << describe(candidate.strategy));
    if (candidate.step) CHECK(*candidate.step >= bound.step);
    const Plan plan = lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(), candidate.strategy).value();
    CHECK(candidate.needs[0].needed >= lower_bound(plan, PlainCosts()).value().device);
  }
}

TEST_CASE("a family that needs an SSD says so where there is none") {
  Platform platform = tiny_platform();
  platform.spaces.pop_back();
  platform.links.resize(2);
  const auto result =
      search_plan(small_model(Family::kGpt2), small_recipe(), platform, PlainCosts(), {.strategy = "stream-ssd"});
  REQUIRE_FALSE(result);
  CHECK(result.error().text().find("SSD") != std::string::npos);
}

TEST_CASE("from recomputing everything one move leads to keeping everything outside the device") {
  const Strategy from{.name = "recompute", .recompute_every = 1};
  const std::vector<Strategy> moves = moves_from(from, {.layers = 3, .micro_batches = 1, .has_ssd = false});
  const auto count = std::count_if(moves.begin(), moves.end(), [](const Strategy& to) {
    return to.recompute_every == 0 && to.activations == Tier::kHost && to.activation_blocks == 3;
  });
  CHECK(count == 1);
}

TEST_CASE("one jump keeps outputs of recomputed blocks and sends them away, of all blocks or of half of them") {
  const Strategy from{.name = "offload-optimizer", .recompute_every = 1, .optimizer = Tier::kHost, .device_state_blocks = 4};
  const std::vector<Strategy> moves = jumps_from(from, {.layers = 8, .micro_batches = 1, .has_ssd = false});
  for (const auto& [blocks, states] : {std::pair{8, 4}, std::pair{4, 4}, std::pair{4, 3}}) {
    const auto count = std::count_if(moves.begin(), moves.end(), [&](const Strategy& to) {
      return to.recompute_every == 1 && to.kept_outputs == 4 && to.activations == Tier::kHost &&
             to.activation_blocks == blocks && to.device_state_blocks == states;
    });
    CHECK(count == 1);
  }
}

TEST_CASE("whatever a walk of moves comes to is refused with a reason or becomes a lawful plan") {
  std::mt19937 random(5);
  const ModelSpec spec = small_model(Family::kGpt2, 3);
  const Recipe recipe = small_recipe(2);
  std::size_t lawful = 0;
  for (int walk = 0; walk < 12; ++walk) {
    Strategy at{.name = "resident"};
    for (int step = 0; step < 12; ++step) {
      const std::vector<Strategy> moves = moves_from(at, {.layers = 3, .micro_batches = 2, .has_ssd = true});
      REQUIRE_FALSE(moves.empty());
      const Strategy& to = moves[random() % moves.size()];
      CHECK(to.name == family_of(to));
      const auto plan = lower_to_plan(spec, recipe, tiny_platform(), to);
      INFO(describe(to) << ", slots " << to.staging_slots);
      if (!plan) {
        CHECK(plan.error().kind == ErrorKind::kInput);
        continue;
      }
      const auto verified = verify_plan(*plan);
      INFO((verified ? std::string() : verified.error().text()));
      CHECK(verified);
      ++lawful;
      at = to;
    }
  }
  CHECK(lawful > 40);
}

TEST_CASE("no plan takes less than what its busiest queue or resource works through") {
  for (const Strategy& strategy : all_candidate_strategies(small_model(Family::kGpt2).layers, Precision::kFp32)) {
    const auto plan = lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(), strategy);
    REQUIRE(plan);
    const FlatBody step = expand(*plan, *plan->body("step"));
    CAPTURE(describe(strategy));
    const Nanoseconds bound = queue_bound(*plan, step, PlainCosts()).value();
    CHECK(bound > Nanoseconds(0));
    CHECK(bound <= predict_step(*plan, PlainCosts(), {.clips = 0}).value());
  }
}

TEST_CASE("a strategy whose bound passes the step that is asked for is not placed") {
  const PlainCosts costs;
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const Platform platform = tiny_platform();
  const SearchProblem problem{spec, recipe, platform, costs};
  const Nanoseconds step = *try_strategy(problem, {}).value().step;
  const Candidate slow = try_strategy(problem, {}, {.below = Nanoseconds(step.count / 100)}).value();
  CHECK(slow.glanced);
  CHECK(*slow.step <= step);
  const Candidate whole = try_strategy(problem, {}, {.below = step + step}).value();
  CHECK_FALSE(whole.glanced);
  CHECK(*whole.step == step);
}

TEST_CASE("exact addresses make a strategy fit under a cap that the greedy ones pass, and the search answers no worse for them") {
  // Each cap is one alignment less than what a family needs as the greedy packing places it: its load may still have room.
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const PlainCosts costs;
  int only_tight = 0;
  for (const Strategy& strategy : all_candidate_strategies(spec.layers, recipe.precision)) {
    const Platform roomy = tiny_platform();
    const auto placed = try_strategy({spec, recipe, roomy, costs}, strategy);
    if (!placed || !placed->fits()) continue;
    const Platform tight = capped(placed->needs[0].needed - kBufferAlignment);
    const SearchProblem problem{spec, recipe, tight, costs};
    const Candidate quick = try_strategy(problem, strategy).value();
    const Candidate exact = try_strategy(problem, strategy, {.tight = true}).value();
    REQUIRE_FALSE(quick.fits());
    if (!exact.fits()) continue;
    CHECK(quick.loose);
    ++only_tight;
    const auto alone = search_plan(spec, recipe, tight, costs, {.exact = strategy}).value();
    REQUIRE(alone.plan);
    CHECK(verify_plan(*alone.plan));
    CHECK(all_fit(space_needs(*alone.plan)));
    const auto chosen = search_plan(spec, recipe, tight, costs).value();
    REQUIRE(chosen.plan);
    CHECK_FALSE(better(exact, chosen.candidates.front()));
  }
  CHECK(only_tight > 0);
}

TEST_CASE("the search with exact addresses at the end is never slower than the best of its walks without") {
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const PlainCosts costs;
  const Bytes most = search(tiny_platform(), "resident").candidates.front().needs[0].needed;
  for (const int percent : {80, 60, 45, 30, 20}) {
    CAPTURE(percent);
    const Platform platform = capped(Bytes(most.count * percent / 100));
    const SearchProblem problem{spec, recipe, platform, costs};
    const SearchResult found = search(platform);
    for (const Candidate& candidate : found.candidates) {
      const auto quick = try_strategy(problem, candidate.strategy);
      if (quick && quick->fits()) CHECK_FALSE(better(*quick, found.candidates.front()));
    }
    if (found.plan) CHECK(found.prediction->step == *found.candidates.front().step);
  }
}
