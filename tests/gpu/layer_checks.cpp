#include <fmt/format.h>

#include <algorithm>

#include "core/trace/summarize.h"
#include "formats/models/resolve_model.h"
#include "tests/gpu/own_seconds.h"
#include "tests/support/tiny_training.h"

// Resident steps of larger models' layers, of which some fit any card: scripts/torch_step.py has PyTorch's steps of the same.
namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);

struct Layers {
  const char* name;   ///< as scripts/torch_step.py has it
  const char* model;  ///< whose layers they are
  std::int64_t layers, vocabulary, batch, sequence;
};
constexpr Layers kAll[] = {{"gpt2-xl", "gpt2-xl", 12, 50257, 4, 1024}, {"llama-3-8b", "llama-3-8b", 4, 32000, 2, 2048}};

constexpr double kSustained = 0.2;  // seconds of each kernel, where nothing else is said

void steps(Bench& bench) {
  const double each = sustained_for(kSustained);
  for (const Layers& of : kAll) {
    ModelSpec spec = taken(resolve_model(of.model));
    spec.layers = of.layers;
    spec.vocabulary = of.vocabulary;
    const Recipe recipe{.precision = Precision::kBf16Mixed, .micro_batch = of.batch, .sequence = of.sequence, .learning_rate = 1e-4};
    const Plan plan = plan_for(machine_of(bench), spec, recipe, {});
    const Trace trace = taken(executor_on(bench, plan)->run_steps({.first_step = 0, .steps = 12, .first_traced_step = 12}, kCorpus));
    const double step = to_seconds(median_step(trace, 2)), tokens = static_cast<double>(recipe.tokens_per_step()) / step;
    const OwnSeconds own = own_seconds(bench, plan, kCorpus, each);
    bench.add(of.name, 1e3 * step, step <= own.step / 0.9,
              fmt::format("ms, kernels {:.2f} ms of {:.1f} s each, {} layers, {:.0f} tokens/s", 1e3 * own.step, each, of.layers, tokens),
              {{"step_seconds", step}, {"kernel_seconds", own.step}});
    for (const auto& [kernel, time] : own.of_kernel) {
      bench.add(fmt::format("{} kernel {} {}", of.name, kernel, to_text(plan.kernels[kernel].kind)), 1e6 * time, true, "us");
    }
  }
}

}  // namespace

std::vector<Check> layer_checks() {
  return {{"layer-speed", "at most 1/0.9 of their kernels' own sustained times; to be held beside PyTorch's step of the same layers", steps, 240}};
}

}  // namespace plimsoll::gpu
