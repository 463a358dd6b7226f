#include "sim/answers/fast_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/parallel/search_layouts.h"
#include "sim/stack/setup_on.h"

namespace plimsoll {
namespace {

/// How much more than there is a layout may need by the coarse count: it has no allocator, and holds a little more than the tape.
constexpr double kSlack = 1.15;

Result<ParallelQuestion> on_cluster(const Question& question, const OpenSettings& open) {
  const StackSetup setup = setup_on(*question.stack, question.machine->options);
  const auto cluster = make_cluster(gpu_in(question.machine->gpu, question.machine->options),
                                    {.gpus = open.gpus, .nodes = setup.nodes, .network = setup.network, .peers = setup.peers});
  if (!cluster) return fail(cluster.error());
  ParallelQuestion coarse{.spec = question.spec, .recipe = question.recipe, .layout = {}, .choices = {}, .cluster = *cluster, .slow = {},
                          .os = setup.os, .desktop = setup.desktop};
  coarse.choices.attention = setup.attention;
  coarse.choices.dropout = setup.dropout;
  coarse.choices.transformer_engine = setup.transformer_engine;
  coarse.choices.reduces_in_half = setup.reduces_in_half;
  return coarse;
}

/// Whether Megatron-LM has the layout.
bool has_megatron(const ParallelLayout& layout) {
  const bool ordered = layout.schedule == "1f1b" || layout.schedule == "interleaved";
  return ordered && layout.zero <= 1 && (layout.chunks == 1 || layout.micro_batches() % layout.stages == 0);
}

/// What was said does not divide, or is of another program.
Error why_none(const ParallelQuestion& coarse, const LayoutRequest& request) {
  if (request.zero.value_or(0) > 1) {
    return {.kind = ErrorKind::kInput, .what = "Megatron-LM's distributed optimizer shares out states alone (ZeRO-1); its FSDP, which shares gradients and weights too, is not modelled",
            .where = "--zero", .remedy = "take --zero 1, or --stack pytorch --zero 3"};
  }
  const std::int64_t gpus = coarse.cluster.gpus;
  if (const auto divides = check_layout(coarse.spec, coarse.recipe, layout_as_said(request, gpus), gpus); !divides) return divides.error();
  return {.kind = ErrorKind::kInfeasible, .what = fmt::format("no layout divides {} over {} GPUs", coarse.spec.name, gpus),
          .where = "--gpus", .remedy = "take another number of GPUs or another --global-batch"};
}

struct Timed {
  ParallelLayout layout;
  double seconds = 0;
  double model_flops = 0;
  Bytes peak;
  bool may_fit = false;
};

std::vector<Timed> timed(const ParallelQuestion& coarse, const std::vector<ParallelLayout>& layouts, std::optional<Bytes> cap, unsigned threads) {
  std::vector<Timed> all;
  const auto answers = time_layouts(coarse, layouts, threads);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (!answers[i]) continue;
    const Bytes usable = cap ? std::min(*cap, answers[i]->usable) : answers[i]->usable, peak = answers[i]->peak();
    const bool may_fit = static_cast<double>(peak.count) <= kSlack * static_cast<double>(usable.count);
    all.push_back({layouts[i], answers[i]->step_seconds, answers[i]->model_flops, peak, may_fit});
  }
  return all;
}

}  // namespace

Result<FastLayouts> fast_layouts(const Question& question, const OpenSettings& open, unsigned threads) {
  const auto coarse = on_cluster(question, open);
  if (!coarse) return fail(coarse.error());
  LayoutRequest request = open.said;
  request.global_batch = open.global_batch;
  std::vector<ParallelLayout> layouts = candidate_layouts(*coarse, request);
  std::erase_if(layouts, [](const ParallelLayout& layout) { return !has_megatron(layout); });
  if (layouts.empty()) return fail(why_none(*coarse, request));
  FastLayouts found{.fastest = {}, .tried = layouts.size()};
  std::vector<Timed> all = timed(*coarse, layouts, setup_on(*question.stack, question.machine->options).device_memory, threads);
  const bool some = std::any_of(all.begin(), all.end(), [](const Timed& one) { return one.may_fit; });
  if (some) std::erase_if(all, [](const Timed& one) { return !one.may_fit; });
  std::stable_sort(all.begin(), all.end(), [&](const Timed& a, const Timed& b) { return some ? a.seconds < b.seconds : a.peak < b.peak; });
  for (const Timed& one : all) found.model_flops = found.model_flops > 0 ? std::min(found.model_flops, one.model_flops) : one.model_flops;
  for (Timed& one : all) found.fastest.push_back(std::move(one.layout));
  return found;
}

}  // namespace plimsoll
