#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/plan/expand.h"
#include "formats/models/resolve_model.h"
#include "tests/gpu/device_plans.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_training.h"

// A drive that reaches the device without host memory.
namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);

const Strategy kWeights{.name = "weights", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kHost};
const Strategy kActivations{.name = "activations", .activations = Tier::kSsd, .activation_blocks = 4};

std::vector<Strategy> on_the_drive() {
  return {kWeights, kActivations, {.name = "gradients", .optimizer = Tier::kSsd, .gradients = Tier::kSsd},
          {.name = "all of them", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd,
           .activations = Tier::kSsd, .activation_blocks = 4, .staging_slots = 3}};
}

Trace run_on(const Bench& bench, const Plan& plan, std::int64_t steps, std::uint64_t jitter = 0) {
  const auto executor = executor_on(bench, plan, jitter);
  return taken(executor->run_steps({.first_step = 0, .steps = steps, .first_traced_step = steps / 2}, kCorpus));
}

/// Bytes a second of what passed between drive and device while any of it was on its way.
double direct_rate(const Plan& plan, const Trace& trace, InstructionKind kind) {
  const FlatBody body = expand(plan, *plan.body("step"));
  std::vector<std::pair<Nanoseconds, Nanoseconds>> spans;
  double bytes = 0;
  for (const TraceEvent& event : trace.events) {
    const Instruction& instruction = body.list.instructions[event.instruction];
    if (instruction.kind != kind) continue;
    const std::span<const Use> uses = body.uses(instruction);
    const Use& memory = uses[kind == InstructionKind::kRead ? 1 : 0];
    if (plan.platform.at(plan.buffers[memory.target].space).kind != SpaceKind::kDevice) continue;
    bytes += static_cast<double>(memory.bytes.count);
    spans.emplace_back(event.start, event.end);
  }
  std::sort(spans.begin(), spans.end());
  Nanoseconds busy, until;
  for (const auto& [start, end] : spans) {
    if (end > until) busy += end - std::max(start, until);
    until = std::max(until, end);
  }
  return busy.count > 0 ? bytes / to_seconds(busy) : 0;
}

void note_rates(Bench& bench, const Recipe& recipe) {
  const ModelSpec spec = taken(resolve_model("gpt2"));
  for (const Strategy& strategy : {kWeights, kActivations}) {
    const Plan direct = plan_for(machine_with_direct_storage(bench), spec, recipe, strategy);
    const Plan staged = plan_for(machine_of(bench), spec, recipe, strategy);
    const Trace one = run_on(bench, direct, 6), other = run_on(bench, staged, 6);
    const double read = direct_rate(direct, one, InstructionKind::kRead), written = direct_rate(direct, one, InstructionKind::kWrite);
    const double step = to_seconds(one.steps.back().duration()), before = to_seconds(other.steps.back().duration());
    const bool same = losses_of(one) == losses_of(other);
    bench.add("gpt2, " + strategy.name, same ? 0 : 1, same,
              fmt::format("{:.2f} GB/s read, {:.2f} written; a step {:.3f} s, {:.3f} through host memory; {}", read * 1e-9, written * 1e-9,
                          step, before, one.source),
              {{"read_bytes_per_second", read}, {"write_bytes_per_second", written}, {"step_seconds", step}, {"staged_step_seconds", before}});
  }
}

void direct_storage(Bench& bench) {
  try {
    bench.device()->prepare_direct_storage();
  } catch (const EnvironmentError& error) {
    return bench.skip(error.error().text());
  }
  Recipe recipe = tiny_recipe();
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed}) {
    for (const std::int64_t accumulate : {1, 2}) {
      recipe.precision = precision;
      recipe.accumulate = accumulate;
      const ModelSpec spec = test::small_model(Family::kLlama, 4);
      const Platform machine = machine_with_direct_storage(bench);
      const std::vector<double> expected = losses_of(run_on(bench, plan_for(machine, spec, recipe, {}), 6));
      std::uint64_t jitter = 0;
      for (const Strategy& strategy : on_the_drive()) {
        const std::vector<double> found = losses_of(run_on(bench, plan_for(machine, spec, recipe, strategy), 6, jitter++));
        const auto other = std::inner_product(found.begin(), found.end(), expected.begin(), 0, std::plus<>(), std::not_equal_to<>());
        bench.add(fmt::format("{}, {} micro-batches, {}", to_text(precision), accumulate, strategy.name), other, other == 0);
      }
    }
  }
  note_rates(bench, {.precision = Precision::kBf16Mixed, .micro_batch = 1, .sequence = 512, .learning_rate = 1e-4});
}

}  // namespace

std::vector<Check> drive_checks() {
  return {{"direct-storage", "0 losses with other bits than without", direct_storage, 120}};
}

}  // namespace plimsoll::gpu
