#include "sim/planner/lowered_steps.h"

#include <catch2/catch.hpp>

#include <random>

#include "formats/machines/catalogue_platform.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/remembered_costs.h"
#include "sim/planner/search_plan.h"
#include "sim/planner/step_lowering.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/direct_ways.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// The most that any starting point takes of each space.
std::vector<Bytes> most_taken(const ModelSpec& spec, const Recipe& recipe) {
  const PlainCosts costs;
  const Platform platform = tiny_platform();
  std::vector<Bytes> most(platform.spaces.size());
  const SearchResult starts = search_plan(spec, recipe, platform, costs, {.refine = false}).value();
  for (const Candidate& candidate : starts.candidates) {
    for (const SpaceNeed& need : candidate.needs)
      most[need.space.index] = std::max(most[need.space.index], need.needed);
  }
  return most;
}

/// A tiny machine with memories and links of other sizes and rates; a plan has the same places on all of them.
Platform changed(std::mt19937& random, const std::vector<Bytes>& most) {
  const auto percent = [&] { return std::uniform_int_distribution<std::int64_t>(2, 70)(random); };
  Platform platform = tiny_platform();
  for (std::size_t i = 0; i < most.size(); ++i) {
    platform.spaces[i].usable = Bytes(most[i].count * percent() / 100);
    platform.spaces[i].capacity = std::max(platform.spaces[i].capacity, platform.spaces[i].usable);
  }
  for (Link& link : platform.links) link.bytes_per_second *= static_cast<double>(percent()) / 100;
  return platform;
}

bool alike(const Candidate& a, const Candidate& b) {
  const auto bytes = [](const Candidate& one) {
    std::vector<std::pair<Bytes, Bytes>> all;
    for (const SpaceNeed& need : one.needs) all.emplace_back(need.needed, need.usable);
    return all;
  };
  // What fits where room alone was asked for may have the first addresses that do, or those that others shared.
  const bool room_alone = a.fits() && a.step == Nanoseconds(0);
  return a.strategy == b.strategy && a.fits() == b.fits() && (room_alone || bytes(a) == bytes(b)) && a.step == b.step && a.glanced == b.glanced &&
         a.instructions == b.instructions && a.loose == b.loose;
}

bool alike(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Candidate& x, const Candidate& y) { return alike(x, y); });
}

}  // namespace

TEST_CASE("a search that shares steps with searches of other machines finds what it finds alone") {
  const PlainCosts costs;
  std::mt19937 random(1);
  for (const std::int64_t accumulate : {1, 2}) {
    const ModelSpec spec = small_model(Family::kGpt2);
    Recipe recipe = small_recipe();
    recipe.accumulate = accumulate;
    const std::vector<Bytes> most = most_taken(spec, recipe);
    const auto shared = std::make_shared<SharedSteps>();
    int fit = 0, short_of = 0;
    for (int machine = 0; machine < 12; ++machine) {
      const Platform platform = changed(random, most);
      for (const bool memory : {false, true}) {
        const SearchOptions alone{.instruction_budget = 20'000, .memory = memory};
        SearchOptions together = alone;
        together.shared = shared;
        const auto expected = search_plan(spec, recipe, platform, costs, alone).value();
        const auto found = search_plan(spec, recipe, platform, costs, together).value();
        CAPTURE(machine, memory);
        CHECK(alike(expected.candidates, found.candidates));
        ++(expected.candidates.front().fits() ? fit : short_of);
      }
    }
    CHECK(fit > 0);
    CHECK(short_of > 0);
  }
}

TEST_CASE("a step that one machine had room for is timed on another with its rates, without being lowered again") {
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const PlainCosts costs;
  const auto shared = std::make_shared<SharedSteps>();
  const Strategy strategy{.name = "stream",
                          .recompute_every = 1,
                          .parameters = Tier::kHost,
                          .optimizer = Tier::kHost,
                          .gradients = Tier::kHost};
  Platform slow = tiny_platform();
  for (Link& link : slow.links) link.bytes_per_second /= 1000;
  const Platform fast = tiny_platform();
  CHECK(shared->of(spec, recipe, fast) == shared->of(spec, recipe, slow));
  const Candidate first = try_strategy(prepared({spec, recipe, fast, costs, false, {}}, shared), strategy).value();
  const auto written = shared->of(spec, recipe, slow)->written(strategy, slow);
  REQUIRE(written);
  REQUIRE(written->step);
  CHECK(written->step->body.size() == first.instructions);
  CHECK(shared->of(spec, recipe, slow)->placed(strategy, slow, written->digest)->step == written->step);
  const Candidate second = try_strategy(prepared({spec, recipe, slow, costs, false, {}}, shared), strategy).value();
  CHECK(*second.step > *first.step);
  CHECK(*second.step == *try_strategy({spec, recipe, slow, costs, false, {}}, strategy).value().step);
}

TEST_CASE("another training, and queues of another width, share nothing") {
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  SharedSteps shared;
  const auto steps = shared.of(spec, recipe, tiny_platform());
  REQUIRE(steps);
  Recipe twice = recipe;
  twice.micro_batch *= 2;
  CHECK(shared.of(spec, twice, tiny_platform()) != steps);
  Platform wide = tiny_platform();
  for (Queue& queue : wide.queues) queue.width = 2;
  CHECK(shared.of(spec, recipe, wide) != steps);
  CHECK(shared.of(spec, recipe, tiny_platform()) == steps);
}

TEST_CASE("what lasts, counted without a plan, is what a plan reserves") {
  const ModelSpec spec = small_model(Family::kLlama);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kAdam8bit, OptimizerKind::kSgd}) {
      Recipe recipe = with_optimizer(small_recipe(), optimizer);
      recipe.precision = precision;
      const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
      const auto sizes = state_sizes(recipe, layout);
      for (const Strategy& strategy : all_candidate_strategies(spec.layers, precision)) {
        const Platform platform = tiny_platform();
        const auto places = Places::find(platform, strategy);
        REQUIRE(places);
        Plan plan{.spec = spec, .recipe = recipe, .platform = platform, .strategy = strategy};
        BufferBook book(plan);
        reserve_state(plan, book, *places, layout, sizes);
        std::vector<Bytes> reserved(platform.spaces.size());
        for (const Buffer& buffer : plan.buffers) reserved[buffer.space.index] += buffer.extent();
        CHECK(lasting_bytes(strategy, recipe, *places, platform.spaces.size(), layout, sizes) == reserved);
      }
    }
  }
}

TEST_CASE("a step that uses the drive is kept apart from that of a machine whose drive reaches the device") {
  const ModelSpec spec = small_model(Family::kGpt2);
  const Recipe recipe = small_recipe();
  const Platform plain = tiny_platform(), direct = with_direct_ways(tiny_platform());
  SharedSteps shared;
  const auto steps = shared.of(spec, recipe, plain);
  REQUIRE(steps == shared.of(spec, recipe, direct));
  const Strategy on_drive{.activations = Tier::kSsd, .activation_blocks = 1}, resident;
  for (const Strategy& strategy : {on_drive, resident}) steps->keep(strategy, plain, {.digest = 7}, std::nullopt);
  CHECK(steps->written(on_drive, plain));
  CHECK_FALSE(steps->written(on_drive, direct));
  CHECK(steps->written(resident, direct));
}

TEST_CASE("remembered costs are the catalogue's, on each processor its own") {
  const auto catalogue = std::make_shared<CatalogueCostModel>();
  const RememberedCosts remembered(catalogue);
  const Kernel product{OpKind::kLinear, DType::kFp16, {.rows = 1024, .inputs = 1600, .outputs = 6400}};
  for (int round = 0; round < 2; ++round) {
    for (const char* name : {"RTX 2060 6GB", "RTX 3090", "V100 SXM2 32GB"}) {
      const auto platform = gpu_platform(find_gpu(built_in_gpu_catalogue(), name).value(), {})->platform;
      const Processor& gpu = platform.at(platform.at(*platform.queue("compute")).processor);
      CHECK(remembered.kernel(gpu, product)->median == catalogue->kernel(gpu, product)->median);
    }
  }
  const Processor unknown{.name = "gpu0"};
  CHECK_FALSE(remembered.kernel(unknown, product));
  CHECK_FALSE(remembered.kernel(unknown, product));
}
