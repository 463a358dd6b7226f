#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <random>

#include "core/model/parameters.h"
#include "formats/models/resolve_model.h"
#include "sim/answers/contenders.h"
#include "sim/answers/draw_chart.h"
#include "sim/answers/largest_fit.h"
#include "sim/answers/room_bound.h"
#include "sim/planner/strategy_families.h"
#include "sim/planner/strategy_moves.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll {
namespace {

/// Fits up to one value for a quick look and up to another for a thorough one.
FitProbe probe_of(std::int64_t quick, std::int64_t thorough) {
  return [=](std::int64_t value, bool all) -> Result<NearAnswer> {
    return NearAnswer{.fits = value <= (all ? thorough : quick), .short_of = Bytes(value)};
  };
}

Question ask(const std::string& model) {
  MachineOptions options;
  options.ram = kGiB * 8;
  options.device_memory = kGiB;
  Question question{.spec = resolve_model(model).value(), .recipe = {.precision = Precision::kFp16Mixed, .sequence = 256}};
  return on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB").value(), options}).value();
}

constexpr const char* kModel = "gpt:layers=2,hidden=256,heads=4,vocab=1000,positions=256";

}  // namespace

TEST_CASE("the largest fits and one more does not") {
  for (const std::int64_t edge : {1, 2, 3, 37, 63, 64, 65, 100}) {
    const LargestFit found = find_largest(probe_of(edge, edge), {.most = 1000}).value();
    CHECK(found.value == edge);
    REQUIRE(found.beyond);
    CHECK(found.beyond->short_of == Bytes(edge + 1));
    CHECK(found.monotone);
  }
}

TEST_CASE("who looks closer at the edge may find it farther") {
  for (const std::int64_t further : {30, 31, 37, 64}) {
    const LargestFit found = find_largest(probe_of(30, further), {.most = 1000}).value();
    CHECK(found.value == further);
    CHECK(found.beyond.has_value());
    CHECK(found.monotone);
  }
}

TEST_CASE("a limit that is near is asked thoroughly at once, and where it does not fit the edge is found all the same") {
  // A quick look ends at 500. The limit, 505, is 1 % beyond: within reach; 506 is not.
  const auto thorough_asked = [](std::int64_t most, std::int64_t further, std::int64_t quick = 500) {
    std::vector<std::int64_t> asked;
    const FitProbe probe = [&](std::int64_t value, bool all) -> Result<NearAnswer> {
      if (all) asked.push_back(value);
      return NearAnswer{.fits = value <= (all ? further : quick), .short_of = Bytes(value)};
    };
    CHECK(find_largest(probe, {.most = most}).value().value == further);
    return asked;
  };
  CHECK(thorough_asked(505, 505) == std::vector<std::int64_t>{505});
  CHECK(thorough_asked(505, 502) == std::vector<std::int64_t>{505, 501, 503, 502});
  CHECK(thorough_asked(506, 506).front() == 501);
  // From 1001 a step of 2 leads to 1003; from there one of 4 would lead beyond half of the way to 1008, so that the next is asked.
  CHECK(thorough_asked(1008, 1003, 1000) == std::vector<std::int64_t>{1008, 1001, 1003, 1004});
}

TEST_CASE("a limit that is short of less than one takes is asked thoroughly before anything below it") {
  // Doubling asks 1 to 256, nine values, then the limit, which lacks 3 where one takes 4: the thorough look that finds it ends
  // the search. Where one takes 2 the limit lacks more than one, and the interval is narrowed in first.
  std::int64_t asked = 0;
  const FitProbe probe = [&](std::int64_t value, bool all) -> Result<NearAnswer> {
    ++asked;
    return NearAnswer{.fits = value <= (all ? 505 : 400), .short_of = Bytes(3)};
  };
  CHECK(find_largest(probe, {.most = 505, .of_each = Bytes(4)}).value().value == 505);
  CHECK(asked == 9 + 1 + 1);
  asked = 0;
  CHECK(find_largest(probe, {.most = 505, .of_each = Bytes(2)}).value().value == 505);
  CHECK(asked > 9 + 1 + 1);
}

TEST_CASE("what never fits is 0, and what always fits ends at the limit without an edge") {
  CHECK(find_largest(probe_of(0, 0), {.most = 1000}).value().value == 0);
  const LargestFit all = find_largest(probe_of(5000, 5000), {.most = 1000}).value();
  CHECK(all.value == 1000);
  CHECK_FALSE(all.beyond);
}

TEST_CASE("what fits beyond one that does not is found beside the edge, and told of") {
  // All up to 8 fit, 9 and 10 do not, and 11 does: three beyond the edge is looked at.
  const FitProbe hole = [](std::int64_t value, bool) -> Result<NearAnswer> {
    return NearAnswer{.fits = value <= 8 || value == 11};
  };
  const LargestFit found = find_largest(hole, {.most = 100}).value();
  CHECK(found.value == 11);
  CHECK_FALSE(found.monotone);
  CHECK(found.refused_below == 9);
}

TEST_CASE("both sides of a real edge are what a fit says of them") {
  for (const Extent extent : {Extent::kLayers, Extent::kBatch, Extent::kSequence}) {
    const Question question = ask(kModel);
    const LargestFit found = largest_fit(question, growth_of(extent), {.most = 64}).value();
    INFO(unit_of(extent) << " " << found.value);
    REQUIRE(found.value > 0);
    CHECK(answer_question(question_at(question, extent, found.value).value()).value().fits);
    if (found.beyond) CHECK_FALSE(answer_question(question_at(question, extent, found.value + 1).value()).value().fits);
  }
}

TEST_CASE("the largest, its plan and what one more lacks are the same on any number of threads") {
  for (const Extent extent : {Extent::kLayers, Extent::kBatch}) {
    const Question question = ask(kModel);
    const LargestFit one = largest_fit(question, growth_of(extent), {.most = 96}).value();
    for (const unsigned threads : {2u, 5u}) {
      INFO(unit_of(extent) << ", " << threads << " threads");
      const LargestFit several = largest_fit(question, growth_of(extent), {.most = 96}, {.threads = threads}).value();
      CHECK(several.value == one.value);
      CHECK(several.looked_at == one.looked_at);
      CHECK(several.answer.strategy == one.answer.strategy);
      CHECK(several.answer.step_seconds == one.answer.step_seconds);
      REQUIRE(several.beyond.has_value() == one.beyond.has_value());
      if (one.beyond) CHECK(several.beyond->short_of == one.beyond->short_of);
    }
  }
}

TEST_CASE("asking for room alone, within what all memories hold, ends where timing every plan ends") {
  for (const char* strategy : {"auto", "zero-offload", "gemini", "stream", "resident"}) {
    for (const Extent extent : {Extent::kLayers, Extent::kBatch}) {
      Question question = ask(kModel);
      question.strategy = strategy;
      const LargestFit pruned = largest_fit(question, growth_of(extent), {.most = 96}).value();
      const LargestFit all = largest_fit(question, growth_of(extent), {.most = 96}, {.memory = false, .bound = false}).value();
      INFO(strategy << " " << unit_of(extent));
      CHECK(pruned.value == all.value);
      CHECK(pruned.answer.step_seconds > 0);
      CHECK(pruned.beyond.has_value() == all.beyond.has_value());
    }
  }
}

TEST_CASE("what has room for 612 blocks has room for 610, by the plan that the larger one has") {
  // States of a block are 14 bytes for each of 7.09 M parameters, 95 MiB on the GPU, and 108 MiB on the host. With the GPU full,
  // 610 blocks miss 51 MiB of host memory. What all blocks keep of 1024 tokens, 1.5 MiB each, must leave the GPU, which helps the
  // host nothing by itself, so that three more blocks find room there.
  MachineOptions options;
  options.ram = kGiB * 64;
  Question question{.spec = resolve_model("gpt:layers=610,hidden=768,heads=12,vocab=50257,positions=1024").value(),
                    .recipe = {.precision = Precision::kFp16Mixed, .sequence = 1024}};
  question = on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB").value(), options}).value();
  const FitAnswer answer = answer_question(question, {.alternatives = false}).value();
  CHECK(answer.fits);
  CHECK(answer.strategy.activations == Tier::kHost);
  // Where the CPU makes every update that the GPU's own states do not, only 50 blocks' states on the GPU leave room enough.
  question.strategy = "stream";
  const FitAnswer by_cpu = answer_question(question, {.alternatives = false}).value();
  CHECK(by_cpu.fits);
  CHECK(by_cpu.strategy.device_state_blocks == 50);
  CHECK(answer.step_seconds < by_cpu.step_seconds);
}

TEST_CASE("no plan needs less over all memories than the bound says, and most plans need hardly more") {
  // gpt2 in fp16-mixed: 2 + 12 bytes for each of 124,439,808 parameters, and 2 of its gradient, which waits for the norm.
  Question question = ask("gpt2");
  CHECK(least_bytes(question.spec, question.recipe) == Bytes(16LL * 124439808));
  question.recipe.clip = 0;
  question.recipe.precision = Precision::kFp32;  // 12 bytes: weights are the optimizer's own, and nothing waits
  CHECK(least_bytes(question.spec, question.recipe) == Bytes(12LL * 124439808));
  for (const char* strategy : {"resident", "stream", "offload-optimizer-overlapped"}) {
    Question one = ask(kModel);
    one.strategy = strategy;
    const FitAnswer answer = answer_question(one).value();
    Bytes needed;
    for (const SpaceAnswer& space : answer.memory) needed += space.peak;
    INFO(strategy);
    CHECK(needed >= least_bytes(one.spec, one.recipe));
  }
}

namespace {

/// A device, a host and a drive with so many bytes each.
Question on_memories(const ModelSpec& spec, Bytes device, Bytes host, Bytes drive) {
  Question question{.spec = spec, .recipe = {.precision = Precision::kBf16Mixed, .sequence = 64, .clip = 1}};
  question.platform = test::tiny_platform();
  question.platform.spaces[0].usable = device;
  question.platform.spaces[1].usable = host;
  question.platform.spaces[2].usable = drive;
  question.costs = std::make_shared<test::PlainCosts>();
  return question;
}

/// States and gradients, 12 and 2 bytes a parameter, of the largest group outside the blocks.
Bytes staged_bytes(const ModelSpec& spec) {
  std::int64_t most = 0;
  for (const ParameterGroup& group : lay_out_parameters(spec).groups) {
    if (group.block < 0) most = std::max(most, group.elements);
  }
  return Bytes(14 * most);
}

}  // namespace

TEST_CASE("what the embedding's update must stage counts beside all that lasts, where no memory but the drive holds the states") {
  // About 44.5 M parameters, 12.9 M of them the vocabulary's: states are 534 MB and gradients 89 MB, more than 40 and 60 MB hold.
  // So what lasts, 16 bytes a parameter, leaves no room for 14 bytes of each of the embedding's unless that much is beside it.
  const ModelSpec spec = resolve_model("gpt:layers=40,hidden=256,heads=4,vocab=50257,positions=64").value();
  const Bytes device(40'000'000), host(60'000'000), staged = staged_bytes(spec);
  CHECK(staged >= Bytes(14LL * 50257 * 256));
  const Bytes drive = Bytes(16 * parameter_count(spec)) + staged - device - host;
  CHECK_FALSE(too_much_to_stage(on_memories(spec, device, host, drive)));
  CHECK(too_much_to_stage(on_memories(spec, device, host, drive - Bytes(1))));
  // 90 MB of host memory hold gradients; 600 hold the states; without a norm to wait for nothing is said.
  CHECK_FALSE(too_much_to_stage(on_memories(spec, device, Bytes(90'000'000), drive - Bytes(30'000'001))));
  CHECK_FALSE(too_much_to_stage(on_memories(spec, device, Bytes(600'000'000), drive - Bytes(540'000'001))));
  Question unclipped = on_memories(spec, device, host, drive - Bytes(1));
  unclipped.recipe.clip = 0;
  CHECK_FALSE(too_much_to_stage(unclipped));
}

TEST_CASE("whatever memory a strategy on a random walk needs, the bound on what is staged does not refuse it") {
  std::mt19937 random(5);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const Bytes large(std::int64_t{1} << 44);
  int looked = 0, near = 0;
  for (int walk = 0; walk < 40; ++walk) {
    const std::int64_t layers = 20 + static_cast<std::int64_t>(below(40));
    const ModelSpec spec =
        resolve_model(fmt::format("gpt:layers={},hidden={},heads=4,vocab={},positions=64", layers, 64 * (1 + below(3)), 50 + below(3000))).value();
    Question question = on_memories(spec, large, large, large);
    question.recipe.accumulate = 1 + static_cast<std::int64_t>(below(2));
    const MoveLimits limits{.layers = layers, .micro_batches = question.recipe.accumulate, .has_ssd = true,
                            .device_state_room = 2, .device_parameter_room = 2, .host_state_room = 2};
    const auto starts = candidate_strategies(layers, question.platform, question.recipe.precision, false);
    Strategy strategy = starts[below(starts.size())];
    if (walk % 2 == 0) strategy = {.recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd};
    for (int step = 0; step < 5; ++step) {
      const auto moves = moves_from(strategy, limits);
      strategy = moves[below(moves.size())];
      const SearchProblem problem{spec, question.recipe, question.platform, *question.costs};
      const auto tried = try_strategy(problem, strategy, {.memory = true});
      if (!tried) continue;
      ++looked;
      Question exactly = question;
      for (std::size_t i = 0; i < 3; ++i) exactly.platform.spaces[i].usable = tried->needs[i].needed;
      CHECK_FALSE(too_much_to_stage(exactly));
      exactly.platform.spaces[2].usable -= Bytes(exactly.platform.spaces[2].usable.count / 8);  // some hold hardly more than they must
      if (too_much_to_stage(exactly)) ++near;
    }
  }
  CHECK(looked > 100);
  CHECK(near > 5);
}

TEST_CASE("ours is never smaller than what everything on the GPU, or a static split, reaches") {
  std::vector<std::string> left_out;
  const auto all = contenders(ask(kModel), {"resident", "zero-offload", "plimsoll"}, left_out).value();
  const auto edges = largest_of(all, growth_of(Extent::kLayers), {.most = 128}, left_out).value();
  REQUIRE(edges.size() == 3);
  CHECK(edges[2].largest.value >= edges[1].largest.value);
  CHECK(edges[2].largest.value >= edges[0].largest.value);
}

TEST_CASE(
    "where only GPU and host together have room, ours is never smaller than a plan of ours by another system's "
    "choices") {
  // 16 bytes for each of 19.7 M parameters of a block: of 23.2 GiB of the GPU and 14 of the host 122 blocks take nearly
  // all.
  MachineOptions options;
  options.ram = kGiB * 16;
  Question question{.spec = resolve_model("gpt:layers=1,hidden=1280,heads=20,vocab=50257,positions=1024").value(),
                    .recipe = {.precision = Precision::kBf16Mixed, .sequence = 1024}};
  question = on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 3090").value(), options}).value();
  std::vector<std::string> left_out;
  const auto all = contenders(question, {"gemini", "plimsoll"}, left_out).value();
  const auto edges = largest_of(all, growth_of(Extent::kLayers), {.most = 256}, left_out).value();
  REQUIRE(edges.size() == 2);
  CHECK(edges[0].largest.value > 110);
  CHECK(edges[1].largest.value >= edges[0].largest.value);
}

TEST_CASE("what was asked of a program counts where it is a contender, and not of others") {
  Question question = ask("vgg11");
  StackSetup setup{.stack = Stack::kPytorch, .modules = ModuleStyle::kTorchVision};
  setup.compression.encoding = MapEncoding::kFp8;
  question.stack = setup;
  std::vector<std::string> left_out;
  const auto all = contenders(question, {"pytorch", "deepspeed"}, left_out).value();
  REQUIRE(all.size() == 2);
  CHECK(*all[0].question.stack == setup);
  CHECK_FALSE(all[1].question.stack->compression.exists());
}

TEST_CASE("another program's largest is told as it was asked for, how far it is certain, and with every block recomputed") {
  Question question = ask(kModel);
  question.stack = StackSetup{};
  std::vector<std::string> left_out;
  const auto all = contenders(question, contenders_as_said(question), left_out).value();
  REQUIRE(all.size() == 3);
  const auto edges = largest_of(all, growth_of(Extent::kBatch), {}, left_out).value();
  REQUIRE(edges.size() == 3);
  const LargestFit& said = edges[0].largest;
  const auto at = [&](const Question& one, std::int64_t value) { return answer_question(question_at(one, Extent::kBatch, value).value()).value(); };
  INFO(said.value << " sequences, certain up to " << said.certain);
  CHECK(at(all[0].question, said.value).fits);
  CHECK_FALSE(at(all[0].question, said.value + 1).fits);
  REQUIRE(said.certain > 0);
  CHECK(said.certain < said.value);
  CHECK(at(all[0].question, said.certain).memory.front().certain);
  const FitAnswer unsure = at(all[0].question, said.certain + 1);
  CHECK_FALSE((unsure.fits && unsure.memory.front().certain));
  CHECK(all[1].question.stack->recomputation == Recomputation::kFull);
  CHECK(edges[1].largest.value > said.value);
  CHECK(edges[2].largest.certain == edges[2].largest.value);
}

TEST_CASE("what plans of ours cannot train as another program was asked to is left out of what is compared") {
  Question question = ask(kModel);
  question.stack = StackSetup{};
  question.stack->preference.method = PreferenceMethod::kDpo;
  std::vector<std::string> left_out;
  const auto all = contenders(question, {"as-said", "pytorch-recompute", "megatron", "zero-offload", "plimsoll"}, left_out).value();
  REQUIRE(all.size() == 2);
  CHECK(all[1].question.stack->preference.method == PreferenceMethod::kDpo);
  CHECK(left_out.size() == 3);
  CHECK(contenders(ask(kModel), {"as-said"}, left_out).value().empty());
}

TEST_CASE("along a row of models the largest is the last that fits") {
  std::vector<ModelSpec> row;
  for (const char* name : {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"}) row.push_back(resolve_model(name).value());
  Question question = ask("gpt2");
  question.strategy = "resident";
  // Sixteen bytes for each of 124 M parameters are 2 GB: not in 1 GiB, but in 6 GB, where the 12 GB of 774 M are not.
  CHECK(largest_fit(question, growth_along(row), {.most = 4}).value().value == 0);
  CataloguedMachine whole = *question.machine;
  whole.options.device_memory.reset();
  const LargestFit found = largest_fit(on_machine(question, whole).value(), growth_along(row), {.most = 4}).value();
  CHECK((found.value == 1 || found.value == 2));
  CHECK(found.parameters == parameter_count(row[static_cast<std::size_t>(found.value - 1)]));
}

TEST_CASE("the longest sequence of plans of ours ends at a sliding window, that of other programs does not") {
  Question question = ask("llama:layers=2,hidden=128,heads=4,kv_heads=2,vocab=1000,positions=4096");
  question.spec.window = 300;
  // Sequences grow by 64 tokens: 4 x 64 = 256 are within 300, 320 are not.
  const LargestFit found = largest_fit(question, growth_of(Extent::kSequence), {.most = 40}).value();
  CHECK(found.value == 4);
  CHECK(found.window == 300);
  CHECK_FALSE(found.beyond);
  question.spec.window = 0;
  CHECK(largest_fit(question, growth_of(Extent::kSequence), {.most = 40}).value().window == 0);
}

TEST_CASE("a wider model keeps the width of its heads and the shape of its feed-forward layer") {
  const Question wide = question_at(ask(kModel), Extent::kWidth, 8).value();
  CHECK(wide.spec.hidden == 512);
  CHECK(wide.spec.heads == 8);
  CHECK(wide.spec.ffn == 4 * 512);
  CHECK(question_at(ask(kModel), Extent::kSequence, 8).value().recipe.sequence == 512);
  CHECK_FALSE(question_at(ask("resnet50"), Extent::kLayers, 8));
}

TEST_CASE("an unknown strategy is refused with the nearest, and a chart names every bar") {
  std::vector<std::string> left_out;
  const auto none = contenders(ask(kModel), {"zero-ofload"}, left_out);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().remedy, Catch::Contains("zero-offload"));
  const std::string svg = draw_bars("Largest <here>", {{"pytorch", 1, "1 B"}, {"plimsoll", 3, "3 B"}});
  CHECK_THAT(svg, Catch::StartsWith("<svg") && Catch::Contains("pytorch") && Catch::Contains("3 B") &&
                      Catch::Contains("&lt;here&gt;"));
}

}  // namespace plimsoll
