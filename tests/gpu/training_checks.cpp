#include <fmt/format.h>

#include <cmath>

#include "executor/cpu/cpu_executor.h"
#include "tests/gpu/device_plans.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_training.h"

// Tiny models, step by step.
namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 65536);

Recipe recipe_in(Precision precision) {
  Recipe recipe = tiny_recipe();
  recipe.precision = precision;
  return recipe;
}

std::vector<double> train_on(Executor& executor, std::int64_t steps, std::int64_t traced_from) {
  return losses_of(taken(executor.run_steps({.first_step = 0, .steps = steps, .first_traced_step = traced_from}, kCorpus)));
}

/// With heads that matrix units take in two-byte types.
ModelSpec wide_heads(ModelSpec spec) {
  spec.name += ", heads of 64";
  spec.head_dim = 64;
  return spec;
}

void against_cpu(Bench& bench, Precision precision, double bound) {
  const ModelSpec llama = test::small_model(Family::kLlama, 2);
  for (const ModelSpec& spec :
       {test::small_model(Family::kGpt2, 2), llama, test::small_model(Family::kQwen3, 2), wide_heads(llama)}) {
    const Recipe recipe = recipe_in(precision);
    const Plan on_cpu = taken(lower_to_plan(spec, recipe, tiny_machine(4), {}, {}));
    auto reference = taken(CpuExecutor::create(on_cpu, {}));
    reference->initialize();
    const std::vector<double> expected = train_on(*reference, 20, 20);
    const auto executor = executor_on(bench, plan_for(machine_of(bench), spec, recipe, {}));
    const std::vector<double> found = train_on(*executor, 20, 20);
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] / expected[i] - 1));
    bench.add(spec.name, worst, worst < bound && found.back() < found.front());
  }
}

/// Traced or not, with random delays or without.
void all_strategies(Bench& bench) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed}) {
    const ModelSpec small = test::small_model(Family::kLlama, 4);
    const ModelSpec spec = precision == Precision::kFp32 ? small : wide_heads(small);
    const Recipe recipe = recipe_in(precision);
    const Platform machine = machine_of(bench);
    const std::vector<double> expected = train_on(*executor_on(bench, plan_for(machine, spec, recipe, {})), 6, 6);
    std::uint64_t jitter = 0;
    for (const Strategy& strategy : strategies()) {
      const auto executor = executor_on(bench, plan_for(machine, spec, recipe, strategy), jitter++);
      const std::vector<double> found = train_on(*executor, 6, 3);
      int other = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) other += found[i] == expected[i] ? 0 : 1;
      bench.add(std::string(to_text(precision)) + ", " + strategy.name, other, other == 0);
    }
  }
}

/// From a scale far too large on: the same steps are skipped, and the scale goes the same way.
void scaled_losses(Bench& bench) {
  Recipe recipe = recipe_in(Precision::kFp16Mixed);
  recipe.loss_scaling = {.start = 0x1p40, .interval = 3};
  const ModelSpec spec = test::small_model(Family::kGpt2, 2);
  auto reference = taken(CpuExecutor::create(taken(lower_to_plan(spec, recipe, tiny_machine(4), {}, {})), {}));
  reference->initialize();
  const Trace expected = taken(reference->run_steps({.first_step = 0, .steps = 36}, kCorpus));
  for (const Tier optimizer : {Tier::kDevice, Tier::kHost}) {
    const Strategy strategy{.optimizer = optimizer, .gradients = optimizer};
    const auto executor = executor_on(bench, plan_for(machine_of(bench), spec, recipe, strategy));
    const Trace found = taken(executor->run_steps({.first_step = 0, .steps = 36}, kCorpus));
    int other = 0;
    for (std::size_t i = 0; i < 36; ++i) {
      const StepSummary &one = found.steps[i], &cpu = expected.steps[i];
      other += one.skipped == cpu.skipped && one.loss_scale == cpu.loss_scale && std::abs(one.loss / cpu.loss - 1) < 1e-2 ? 0 : 1;
    }
    bench.add(optimizer == Tier::kDevice ? "on the device" : "on the host", other, other == 0);
  }
}

/// The same steps, one kernel after another and by graphs; the note is how long a step takes of what it took.
void by_graphs(Bench& bench) {
  const ModelSpec spec = test::small_model(Family::kLlama, 4);
  const Recipe recipe = recipe_in(Precision::kFp32);
  for (const Strategy& strategy : {strategies()[0], strategies()[4]}) {
    std::vector<Trace> traces;
    for (const bool graphs : {false, true}) {
      const DeviceOptions options{.graphs = graphs, .backend = "cuda", .drive = {.folder = "/tmp"}};
      auto executor = taken(DeviceExecutor::create(plan_for(machine_of(bench), spec, recipe, strategy), bench.device(), options));
      executor->initialize();
      traces.push_back(taken(executor->run_steps({.first_step = 0, .steps = 40, .first_traced_step = 40}, kCorpus)));
    }
    const std::vector<double> one = losses_of(traces[0]), other = losses_of(traces[1]);
    const auto time_of = [](const Trace& trace) { return static_cast<double>((trace.steps[39].end - trace.steps[10].end).count); };
    const double share = time_of(traces[1]) / time_of(traces[0]);
    bench.add(strategy.name, one == other ? 0 : 1, one == other, fmt::format("{:.2f} of the time", share));
  }
}

void early_updates(Bench& bench) {
  Recipe recipe = recipe_in(Precision::kFp32);
  recipe.clip = 0.9;
  const ModelSpec spec = test::small_model(Family::kGpt2, 4);
  const Platform machine = machine_of(bench);
  const std::vector<double> expected = train_on(*executor_on(bench, plan_for(machine, spec, recipe, {})), 8, 8);
  for (const Tier optimizer : {Tier::kDevice, Tier::kHost}) {
    Strategy early{.name = "early"};
    early.optimizer = optimizer;
    early.gradients = optimizer;
    early.update_in_backward = true;
    const bool same = train_on(*executor_on(bench, plan_for(machine, spec, recipe, early)), 8, 4) == expected;
    bench.add(optimizer == Tier::kDevice ? "on the device" : "on the host", same ? 0 : 1, same);
  }
}

}  // namespace

std::vector<Check> training_checks() {
  return {{"losses-fp32", "20 steps within 1e-3 of the CPU's", [](Bench& b) { against_cpu(b, Precision::kFp32, 1e-3); }},
          {"losses-bf16", "20 steps within 3e-2 of the CPU's", [](Bench& b) { against_cpu(b, Precision::kBf16Mixed, 3e-2); }},
          {"loss-scaling", "0 of 36 fp16 steps skipped otherwise than the CPU's, or 1e-2 from its losses", scaled_losses},
          {"strategies", "0 of 6 losses with other bits than the resident plan's", all_strategies},
          {"graphs", "40 steps by graphs give the losses of kernels one by one", by_graphs},
          {"exact-clipping", "early updates give the bits of clipping first", early_updates}};
}

}  // namespace plimsoll::gpu
