#include "sim/stack/lowering/lower_stack.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "formats/models/resolve_model.h"
#include "formats/plans/plan_json.h"
#include "sim/stack/lowering/allocation_events.h"
#include "sim/stack/lowering/launch_kernels.h"
#include "sim/stack/lowering/simulate_dynamic.h"
#include "sim/stack/lowering/stack_platform.h"

namespace plimsoll {
namespace {

GpuEntry board() { return *find_gpu(built_in_gpu_catalogue(), "RTX 3090"); }

Recipe recipe_of(std::int64_t accumulate = 1) {
  Recipe recipe;
  recipe.micro_batch = 2;
  recipe.sequence = 128;
  recipe.accumulate = accumulate;
  recipe.precision = Precision::kBf16Mixed;
  return recipe;
}

const char* const kModel = "gpt:layers=4,hidden=256,heads=4,vocab=1024,positions=128";

LoweredStack lowered(const StackSetup& setup, std::int64_t accumulate = 1) {
  const auto made = lower_stack(*resolve_model(kModel), recipe_of(accumulate), setup, board());
  REQUIRE(made);
  return *made;
}

std::vector<StackSetup> some_setups() {
  return {{.stack = Stack::kPytorch},
          {.stack = Stack::kPytorch, .recomputation = Recomputation::kFull, .expandable_segments = true},
          {.stack = Stack::kPytorch, .data_ranks = 4, .zero = 3},
          {.stack = Stack::kPytorch, .data_ranks = 2, .zero = 3, .expandable_segments = true, .fused_head = true, .preference = {.method = PreferenceMethod::kDpo}},
          {.stack = Stack::kDeepspeed, .zero = 2, .optimizer = Home::kHost},
          {.stack = Stack::kDeepspeed, .data_ranks = 2, .zero = 3, .parameters = Home::kDrive, .optimizer = Home::kDrive},
          {.stack = Stack::kColossalai, .parameters = Home::kHost, .optimizer = Home::kHost},
          {.stack = Stack::kMegatron, .modules = ModuleStyle::kMegatron, .tensor_ranks = 2}};
}

/// Uses of a body's allocation markers, in order.
template <typename Visit>
void visit_markers(const Plan& plan, Visit visit) {
  for (const Body& body : plan.bodies) {
    const FlatBody flat = expand(plan, body);
    for (const Instruction& instruction : flat.list.instructions) {
      if (instruction.kind == InstructionKind::kMarker) visit(flat.uses(instruction));
    }
  }
}

}  // namespace

TEST_CASE("A lowered program needs and takes what its stack's prediction says") {
  for (const StackSetup& setup : some_setups()) {
    INFO(describe(setup));
    const LoweredStack made = lowered(setup, 2);
    const auto direct = predict_stack(*resolve_model(kModel), recipe_of(2), setup, board());
    const auto replayed = simulate_dynamic(made.plan);
    REQUIRE(direct);
    REQUIRE(replayed);
    CHECK(replayed->setup.starts_with("as planned"));  // whose layers they are is not in a plan
    const SpaceAnswer& gpu = replayed->memory.front();
    CHECK(gpu.peak_requested == direct->peak.requested);
    CHECK(gpu.peak_allocated == direct->peak.allocated);
    CHECK(gpu.peak_reserved == direct->peak.reserved);
    CHECK(gpu.peak_process == direct->peak.process);
    CHECK(replayed->step_seconds == Approx(direct->time.step).epsilon(1e-9));
    CHECK(replayed->phases.optimizer_seconds == Approx(direct->time.optimizer).epsilon(1e-9));
    const auto sequences = static_cast<double>(2 * 2 * setup.data_ranks * setup.preference.sequences());
    CHECK(replayed->tokens_per_second == Approx(sequences * 128 / direct->time.step).epsilon(1e-9));
    CHECK(replayed->phases.exposed_transfer_seconds == Approx(direct->time.exposed_transfer).margin(1e-12));
    CHECK(replayed->model_tflops_per_gpu == Approx(direct->time.model_flops / direct->time.step * 1e-12).epsilon(1e-6));
  }
}

TEST_CASE("A lowered program is written and read back the same") {
  const LoweredStack made = lowered(some_setups().front());
  const std::string text = write_plan(made.plan);
  const auto read = read_plan(text, "plan.json");
  REQUIRE(read);
  CHECK(write_plan(*read) == text);
  CHECK(allocates_while_running(*read));
}

// 65,536 tokens by 8192 by 28,672 are 2^16 · 2^13 · 7 · 2^12 · 2 FLOP = 3.1 · 10^13; plan files have no number above 2^40, 1.1 · 10^12.
TEST_CASE("A kernel of more FLOPs than a number of a plan file comes back whole") {
  Recipe recipe = recipe_of();
  recipe.micro_batch = 8;
  recipe.sequence = 8192;
  const ModelSpec wide = *resolve_model("llama:layers=1,hidden=8192,heads=64,kv_heads=8,ffn=28672,vocab=1024,positions=8192");
  const auto made = lower_stack(wide, recipe, {.stack = Stack::kPytorch}, board());
  REQUIRE(made);
  const auto read = read_plan(write_plan(made->plan), "plan.json");
  REQUIRE(read);
  CHECK(simulate_dynamic(*read)->model_tflops_per_gpu == simulate_dynamic(made->plan)->model_tflops_per_gpu);
  double most = 0;
  for (const Body& body : read->bodies) {
    for (const Instruction& instruction : expand(*read, body).list.instructions) {
      if (instruction.kind == InstructionKind::kLaunch) most = std::max(most, raise_launch(*read, instruction).flops);
    }
  }
  CHECK(most == 7.0 * (std::int64_t{1} << 42));
}

TEST_CASE("Buffers that are there at once never overlap") {
  for (const StackSetup& setup : some_setups()) {
    INFO(describe(setup));
    const LoweredStack made = lowered(setup);
    std::map<std::int64_t, std::int64_t> there;  // begin, end
    const auto arrive = [&](const Buffer& buffer) {
      const std::int64_t begin = buffer.offset.count, end = begin + buffer.bytes.count;
      const auto after = there.lower_bound(begin);
      CHECK((after == there.end() || end <= after->first));
      CHECK((after == there.begin() || std::prev(after)->second <= begin));
      CHECK(end <= made.plan.arena_bytes(kStackDevice).count);
      there.emplace(begin, end);
    };
    visit_markers(made.plan, [&](std::span<const Use> uses) {
      for (const Use& use : uses) {
        const Buffer& buffer = made.plan.buffers[use.target];
        if (reads(use.access)) REQUIRE(there.erase(buffer.offset.count) == 1);
        if (writes(use.access)) arrive(buffer);
      }
    });
  }
}

TEST_CASE("A lowered step's trace has one event an instruction, and ends with the step") {
  for (const StackSetup& setup : some_setups()) {
    INFO(describe(setup));
    const LoweredStack made = lowered(setup, 2);
    const FlatBody flat = expand(made.plan, *made.plan.body("step"));
    REQUIRE(made.trace.events.size() == flat.size());
    const Nanoseconds end = made.trace.steps.front().end;
    std::vector<Nanoseconds> free_at(made.plan.platform.queues.size());
    for (std::size_t id = 0; id < flat.size(); ++id) {
      const TraceEvent& event = made.trace.events[id];
      CHECK(event.instruction == id);
      CHECK(event.start <= event.end);
      CHECK(event.end <= end + Nanoseconds(1));
      if (flat.list.instructions[id].kind == InstructionKind::kMarker) continue;
      Nanoseconds& free = free_at[flat.list.instructions[id].queue.index];
      const Queue& queue = made.plan.platform.at(flat.list.instructions[id].queue);
      INFO(queue.name);
      CHECK((queue.width > 1 || event.start + Nanoseconds(1) >= free));
      free = event.end;
    }
  }
}

TEST_CASE("The memory curve is highest where most is allocated, and its categories add up") {
  const LoweredStack made = lowered(some_setups().front());
  std::map<std::string, Bytes> now;
  Bytes most;
  for (std::size_t i = 0; i < made.memory.size(); ++i) {
    now[made.memory[i].space + "/" + made.memory[i].category] = made.memory[i].bytes;
    if (i + 1 < made.memory.size() && made.memory[i + 1].time == made.memory[i].time) continue;
    Bytes sum;
    for (const char* category : {"parameters", "gradients", "optimizer", "activations", "workspace"}) sum += now[std::string("gpu0/") + category];
    CHECK(sum == now["gpu0 allocator/allocated"]);
    CHECK(now["gpu0 allocator/requested"] <= sum);
    CHECK(sum <= now["gpu0 allocator/reserved"]);
    most = std::max(most, sum);
  }
  CHECK(most == made.prediction.peak.allocated);
}

TEST_CASE("What allocates while it runs does not obey the law of plans, and defects of it are named") {
  LoweredStack made = lowered(some_setups().front());
  CHECK_FALSE(verify_plan(made.plan));
  // The last marker that frees something is doubled: its buffer goes twice.
  for (Block& block : made.plan.blocks) {
    for (std::size_t i = block.list.instructions.size(); i-- > 0;) {
      const Instruction& instruction = block.list.instructions[i];
      if (instruction.kind != InstructionKind::kMarker || block.list.uses[instruction.first_use].access != Access::kRead) continue;
      block.list.instructions.push_back(instruction);
      const auto refused = simulate_dynamic(made.plan);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().what.find("is not there") != std::string::npos);
      return;
    }
  }
  FAIL("no marker frees anything");
}

TEST_CASE("a plan's words keep the degrees of its GPUs, those of older plans are read, and numbers that nobody has are cut") {
  const StackSetup four{.stack = Stack::kMegatron, .data_ranks = 2, .tensor_ranks = 2};
  CHECK(stack_words(four) == "megatron, 2 data ranks, tp 2");
  for (const char* words : {"megatron, 2 data ranks, tp 2", "megatron, 2 ranks"}) CHECK(read_stack_words(words)->data_ranks == 2);
  CHECK(read_stack_words(stack_words(four))->tensor_ranks == 2);
  CHECK(read_stack_words("megatron, tp 4, pp 8, cp 2")->stages == 8);
  CHECK(read_stack_words("megatron, -7 data ranks, tp 9999")->tensor_ranks == 1024);
  CHECK(read_stack_words("megatron, -7 data ranks, tp 9999")->data_ranks == 1);
}

}  // namespace plimsoll
