#include "sim/planner/folded_bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace plimsoll {
namespace {

/// Blocks may differ from their neighbours in turns of so many at the most.
constexpr std::int64_t kMostPeriod = 8;
/// Less than this share of a model left out saves nothing: two shorter ones are planned in its place.
constexpr double kLeastLeftOut = 0.6;
/// Lengths seldom divide well: of a deep model, which blocks are left out of so many times, a few more or fewer times than usual may
/// leave less to write. Many more would bring the two models too near to each other for what is the most in one of them to be the
/// most in the whole.
constexpr std::int64_t kManyTimes = 8, kTimesAround = 2;

/// The kernels of each block, in order.
std::vector<std::vector<const Op*>> ops_of_blocks(const Graph& graph) {
  std::vector<std::vector<const Op*>> blocks(static_cast<std::size_t>(std::max<std::int64_t>(0, graph.spec.blocks())));
  for (const Op& op : graph.ops) {
    if (op.block >= 0 && op.block < graph.spec.blocks()) blocks[static_cast<std::size_t>(op.block)].push_back(&op);
  }
  return blocks;
}

bool same_work(const std::vector<const Op*>& a, const std::vector<const Op*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Op* x, const Op* y) {
    return x->kind == y->kind && x->phase == y->phase && x->dtype == y->dtype && x->shape == y->shape &&
           x->operands.size() == y->operands.size();
  });
}

std::int64_t period_of(const Graph& graph) {
  if (graph.spec.decoder_layers > 0) return 0;
  const auto blocks = ops_of_blocks(graph);
  for (std::size_t period = 1; period <= kMostPeriod && period < blocks.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < blocks.size() && repeats; ++i) repeats = same_work(blocks[i], blocks[i - period]);
    if (repeats) return static_cast<std::int64_t>(period);
  }
  return 0;
}

/// Blocks at the end of which the strategy begins to treat them otherwise.
std::vector<std::int64_t> cuts_of(const Strategy& s, std::int64_t layers) {
  std::vector<std::int64_t> cuts{0, layers, s.device_parameter_blocks, s.device_state_blocks,
                                 s.device_state_blocks + s.host_state_blocks, s.device_state_blocks + s.device_update_blocks,
                                 s.activation_blocks, s.host_activation_blocks};
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

Folding folded_so_often(std::int64_t times, const std::vector<std::int64_t>& cuts, std::int64_t stay, std::int64_t step) {
  Folding folding{.times = times, .cuts = cuts, .spared = {}};
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::int64_t room = std::max<std::int64_t>(0, cuts[i + 1] - cuts[i] - stay);
    folding.spared.push_back(room / (times * step) * step);
  }
  return folding;
}

/// Lower bounds of what each space holds.
Result<std::vector<SpaceNeed>> bound_of(ShorterModels& models, const ShorterPlan& shorter) {
  const auto model = models.with(shorter.layers);
  const auto plan = lower_to_plan(model->graph.spec, model->graph.recipe, models.platform(), shorter.strategy,
                                  {.nameless = true,
                                   .sizes = &model->sizes,
                                   .outline = &model->outline,
                                   .bounds_only = true,
                                   .graph = &model->graph});
  if (!plan) return fail(plan.error());
  return space_needs(*plan);
}

}  // namespace

ShorterModel::ShorterModel(std::shared_ptr<const Graph> of)
    : owner(std::move(of)), graph(*owner), outline(graph), sizes(state_sizes(graph.recipe, graph.parameters)) {}

ShorterModels::ShorterModels(const Graph& graph, const Platform& platform)
    : graph_(graph), platform_(platform), period_(period_of(graph)) {}

std::shared_ptr<const ShorterModel> ShorterModels::with(std::int64_t layers) {
  const auto entry = [&]() -> Built& {
    const std::scoped_lock lock(mutex_);
    return models_[layers];
  };
  Built& built = entry();
  std::call_once(built.once, [&] {
    ModelSpec spec = graph_.spec;
    spec.layers = layers;
    built.model = std::make_shared<const ShorterModel>(graph_on(spec, graph_.recipe, platform_));
  });
  return built.model;
}

ShorterPlan Folding::shorter(const Strategy& strategy, std::int64_t left_out) const {
  const auto moved = [&](std::int64_t block) {
    std::int64_t gone = 0;
    for (std::size_t i = 0; i + 1 < cuts.size() && cuts[i + 1] <= block; ++i) gone += left_out * spared[i];
    return block - gone;
  };
  ShorterPlan plan{moved(cuts.back()), strategy};
  Strategy& s = plan.strategy;
  const std::int64_t in_memory = moved(s.device_state_blocks + s.host_state_blocks);
  const std::int64_t by_device = moved(s.device_state_blocks + s.device_update_blocks);
  s.device_parameter_blocks = moved(s.device_parameter_blocks);
  s.device_state_blocks = moved(s.device_state_blocks);
  s.host_state_blocks = in_memory - s.device_state_blocks;
  s.device_update_blocks = by_device - s.device_state_blocks;
  s.activation_blocks = moved(s.activation_blocks);
  s.host_activation_blocks = moved(s.host_activation_blocks);
  return plan;
}

std::optional<Folding> fold_layers(const Strategy& strategy, std::int64_t layers, std::int64_t period) {
  if (period <= 0) return std::nullopt;
  const std::int64_t step = std::lcm(period, std::max<std::int64_t>(1, strategy.recompute_every));
  const std::int64_t stay = 4 * strategy.staging_slots + 2 * step;  // as far as transfers run ahead, there and back
  const std::vector<std::int64_t> cuts = cuts_of(strategy, layers);
  if (cuts.back() != layers) return std::nullopt;  // a count of more blocks than there are: refused elsewhere
  const auto stretches = static_cast<double>(cuts.size() - 1);
  const auto usual = std::max<std::int64_t>(2, std::llround(std::sqrt(static_cast<double>(layers / step) / (2 * stretches))));
  const std::int64_t around = usual < kManyTimes ? 1 : kTimesAround;
  std::optional<Folding> best;
  for (std::int64_t times = usual / around; times <= usual * around; ++times) {
    Folding folding = folded_so_often(times, cuts, stay, step);
    if (!best || folding.written(layers) < best->written(layers)) best = std::move(folding);
  }
  if (static_cast<double>(best->times * best->spared_at_once()) < kLeastLeftOut * static_cast<double>(layers)) return std::nullopt;
  return best;
}

Result<std::optional<std::vector<SpaceNeed>>> folded_bound(ShorterModels& models, const Strategy& strategy) {
  const auto folding = fold_layers(strategy, models.whole().spec.blocks(), models.period());
  if (!folding) return std::optional<std::vector<SpaceNeed>>();
  auto needs = bound_of(models, folding->shorter(strategy, folding->times));
  if (!needs) return fail(needs.error());
  const auto longer = bound_of(models, folding->shorter(strategy, folding->times - 1));
  if (!longer) return fail(longer.error());
  for (std::size_t i = 0; i < needs->size(); ++i) {
    (*needs)[i].needed += Bytes(folding->times * ((*longer)[i].needed - (*needs)[i].needed).count);
  }
  return std::optional(std::move(*needs));
}

}  // namespace plimsoll
