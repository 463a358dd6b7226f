#include "sim/parallel/stage_pieces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "sim/parallel/pass_seconds.h"
#include "sim/parallel/tensor_grid.h"
#include "sim/stack/megatron/megatron_stage.h"
#include "sim/stack/megatron/megatron_states.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPieces = 3;  ///< stages of one block each: first, middle, last

StackSetup setup_of(const ParallelLayout& layout, const BlockChoices& choices) {
  StackSetup setup;
  setup.stack = Stack::kMegatron;
  setup.modules = ModuleStyle::kMegatron;
  setup.attention = choices.attention;
  setup.dropout = choices.dropout;
  setup.transformer_engine = choices.transformer_engine;
  setup.reduces_in_half = choices.reduces_in_half;
  setup.recomputation = layout.recomputation;
  setup.loop = OptimizerLoop::kFused;
  setup.tensor_ranks = layout.tensor_ranks;
  setup.context_ranks = layout.context_ranks;
  setup.sequence_parallel = layout.sequence_parallel;
  setup.stages = kPieces;
  return setup;
}

/// Live bytes of a log, by what they are for.
class LiveBytes {
 public:
  /// Reads on to the log's end; the most of activations since the last call is kept.
  void read(const StorageLog& log) {
    most_ = held(Holding::kActivations);
    for (; next_ < log.events().size(); ++next_) take(log.events()[next_]);
  }
  [[nodiscard]] double held(Holding holding) const {
    return static_cast<double>(held_[static_cast<std::size_t>(holding)]);
  }
  [[nodiscard]] double most() const { return most_; }

 private:
  void take(const StorageEvent& event) {
    if (holdings_.size() <= event.storage) holdings_.resize(event.storage + 1);
    Holding& now = holdings_[event.storage];
    if (event.change != StorageChange::kBorn) held_[static_cast<std::size_t>(now)] -= event.bytes.count;
    now = event.holding;
    if (event.change != StorageChange::kDied) held_[static_cast<std::size_t>(now)] += event.bytes.count;
    most_ = std::max(most_, held(Holding::kActivations));
  }

  std::size_t next_ = 0;
  std::vector<Holding> holdings_;
  std::array<std::int64_t, kHoldings> held_{};
  double most_ = 0;
};

/// One stage of one block, and a micro-batch through it.
class PieceRun {
 public:
  PieceRun(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::int64_t stage,
           const GpuEntry& gpu)
      : recipe_(recipe),
        tape_(make_tape(setup, gpu)),
        model_(*tape_, spec, recipe, setup, stage, megatron_cut(spec, recipe, setup, gpu.compute_capability)),
        states_(*tape_, recipe, setup) {
    micro_batch();  // makes what is made once: states, libraries' workspaces
    tape_->forget_kernels();
    live_.read(tape_->log());
    measure();
  }

  [[nodiscard]] const std::vector<StackKernel>& kernels() const { return tape_->kernels(); }
  [[nodiscard]] std::int64_t rows() const { return model_.cut().rows(); }
  [[nodiscard]] double workspace() const { return live_.held(Holding::kWorkspace); }

  void put_bytes(PieceCost& cost) const {
    cost.saved = saved_;
    cost.working = working_;
    cost.parameters = live_.held(Holding::kParameters);
    cost.gradients = live_.held(Holding::kGradients);
    cost.states = live_.held(Holding::kOptimizer);
    for (const Parameter& parameter : tape_->parameters())
      cost.elements += static_cast<double>(parameter.value.elements());
  }

 private:
  void forward() {
    tape_->phase(Phase::kForward);
    if (!model_.is_first(0)) input_ = model_.received();
    output_ = model_.forward(input_, 0);
    if (!model_.is_last(0)) output_.storage.reset();  // the next stage has it; its history is enough
  }

  void backward() {
    tape_->phase(Phase::kBackward);
    const bool last = model_.is_last(0);
    Tensors gradients, roots, inputs;
    gradients.push_back(tape_->empty(output_.shape, last ? DType::kFp32 : model_.cut().type));
    if (input_) inputs.push_back(std::move(input_));
    input_ = {};
    roots.push_back(std::move(output_));
    output_ = {};
    tape_->backward_to(roots, std::move(gradients), inputs);
  }

  void update() {
    tape_->phase(Phase::kOptimizer);
    states_.update(recipe_);
  }

  void micro_batch() {
    forward();
    backward();
    update();
  }

  void measure() {
    const double before = live_.held(Holding::kActivations);
    forward();
    live_.read(tape_->log());
    saved_ = live_.held(Holding::kActivations) - before;
    const double forward_most = live_.most() - before - saved_;
    backward();
    live_.read(tape_->log());
    working_ = std::max({0.0, forward_most, live_.most() - before - saved_});
    update();
    live_.read(tape_->log());
  }

  const Recipe& recipe_;
  std::shared_ptr<Tape> tape_;
  MegatronStage model_;
  MegatronStates states_;
  Tensor input_;
  Tensor output_;
  LiveBytes live_;
  double saved_ = 0;
  double working_ = 0;
};

}  // namespace

namespace {

constexpr double PieceCost::*kFields[] = {&PieceCost::forward,          &PieceCost::input_gradient,
                                          &PieceCost::weight_gradient,  &PieceCost::forward_sends,
                                          &PieceCost::backward_sends,   &PieceCost::hidden_sends,
                                          &PieceCost::model_flops,      &PieceCost::hardware_flops,
                                          &PieceCost::update,           &PieceCost::saved,
                                          &PieceCost::working,          &PieceCost::parameters,
                                          &PieceCost::gradients,        &PieceCost::states,
                                          &PieceCost::elements,         &PieceCost::expert_parameters,
                                          &PieceCost::expert_gradients, &PieceCost::expert_states,
                                          &PieceCost::exchange_forward, &PieceCost::exchange_backward};

}  // namespace

PieceCost& PieceCost::operator+=(const PieceCost& other) {
  for (const auto field : kFields) this->*field += other.*field;
  return *this;
}

PieceCost PieceCost::without(const PieceCost& other) const {
  PieceCost rest;
  for (const auto field : kFields) rest.*field = std::max(0.0, this->*field - other.*field);
  return rest;
}

PieceCost PieceCost::times(double count) const {
  PieceCost product;
  for (const auto field : kFields) product.*field = this->*field * count;
  return product;
}

double chance_imbalance(double tokens, double choices, double ranks) {
  return ranks < 2 ? 1 : 1 + std::sqrt(2 * std::log(ranks) / (tokens * choices));
}

namespace {

/// What is asked of the pieces, but for the width of the feed-forward layer.
struct PieceTerms {
  const ModelSpec& spec;
  const Recipe& recipe;
  const ParallelLayout& layout;
  const BlockChoices& choices;
  const Cluster& cluster;
  std::optional<TwoLevelGating> gating = {};
};

Result<StagePieces> dense_pieces(const PieceTerms& terms, std::int64_t width) {
  ModelSpec cut = terms.spec;
  cut.layers = kPieces;
  cut.ffn = width;
  cut.experts = {};
  Recipe one = terms.recipe;
  one.micro_batch = terms.layout.micro_batch;
  one.accumulate = 1;
  const StackSetup setup = setup_of(terms.layout, terms.choices);
  const auto rates = kernel_rates(terms.cluster.gpu, setup, terms.recipe.precision);
  if (!rates) return fail(rates.error());
  std::array<PieceCost, kPieces> costs;
  StagePieces pieces;
  for (std::int64_t stage = 0; stage < kPieces; ++stage) {
    const PieceRun run(cut, one, setup, stage, terms.cluster.gpu);
    auto cost = pass_seconds(run.kernels(), {.layout = terms.layout,
                                             .rows = run.rows(),
                                             .kv_heads = cut.kv_heads,
                                             .rates = *rates,
                                             .cluster = terms.cluster});
    if (!cost) return fail(cost.error());
    run.put_bytes(*cost);
    costs[static_cast<std::size_t>(stage)] = *cost;
    pieces.workspace = std::max(pieces.workspace, run.workspace());
  }
  pieces.block = costs[1];
  pieces.embedding = costs[0].without(costs[1]);
  pieces.head = costs[2].without(costs[1]);
  return pieces;
}

/// Of tensor ranks in a square or a cube: the kernels are those of a line with as many ranks as the grid has on a side.
Result<StagePieces> grid_pieces(const PieceTerms& terms) {
  const ParallelLayout line = line_of(terms.layout);
  auto pieces = dense_pieces({terms.spec, terms.recipe, line, terms.choices, terms.cluster}, terms.spec.ffn);
  if (!pieces) return pieces;
  const auto rows = static_cast<double>(terms.layout.micro_batch * terms.recipe.sequence);
  const std::int64_t bytes = size_of(compute_dtype(terms.recipe.precision));
  use_grid(pieces->block, linears_of_block(terms.spec, rows), terms.layout, bytes, terms.cluster);
  use_grid(pieces->head, linears_of_head(terms.spec, rows), terms.layout, bytes, terms.cluster);
  use_grid(pieces->embedding, {}, terms.layout, bytes, terms.cluster);
  return pieces;
}

/// What experts hold, `count` of them on this rank.
PieceCost held_by_experts(const PieceCost& one, double count) {
  PieceCost held;
  for (const auto field :
       {&PieceCost::update, &PieceCost::parameters, &PieceCost::gradients, &PieceCost::states, &PieceCost::elements}) {
    held.*field = one.*field * count;
  }
  return held;
}

/// What passing `choices` experts a token takes, the fullest rank `imbalance` times the mean.
PieceCost passed_by_tokens(const PieceCost& one, double choices, double imbalance) {
  PieceCost passed = one.times(choices * imbalance);
  passed.model_flops = one.model_flops * choices;
  passed.hardware_flops = one.hardware_flops * choices;
  for (const auto field :
       {&PieceCost::update, &PieceCost::parameters, &PieceCost::gradients, &PieceCost::states, &PieceCost::elements})
    passed.*field = 0;
  return passed;
}

/// Tokens of the fullest expert rank, over the mean; a capacity bounds them.
double imbalance_of(const PieceTerms& terms, double tokens) {
  const ExpertSpec& experts = terms.spec.experts;
  const auto ranks = static_cast<double>(terms.layout.expert_ranks);
  const double chance = terms.gating ? two_level_load(*terms.gating, tokens * ranks, terms.layout.expert_ranks).fullest
                                     : chance_imbalance(tokens, static_cast<double>(experts.per_token), ranks);
  const double imbalance = terms.choices.imbalance.value_or(chance);
  return experts.capacity > 0 ? std::min(imbalance, experts.capacity) : imbalance;
}

/// Seconds of one way of tokens to their experts; `bytes` of them, each once.
double way_seconds(const PieceTerms& terms, double bytes, double imbalance) {
  if (terms.gating) return two_level_exchange(*terms.gating, bytes, imbalance, terms.layout, terms.cluster).seconds();
  const double sent = bytes * static_cast<double>(terms.spec.experts.per_token) * imbalance;
  return seconds_of(Collective::kAllToAll, sent, expert_group(terms.layout, terms.cluster), terms.cluster);
}

/// A block whose feed-forward layer is a mixture: `narrow` has one expert's width, `one` is what that expert adds.
PieceCost expert_block(const PieceTerms& terms, const PieceCost& narrow, const PieceCost& one) {
  const ExpertSpec& experts = terms.spec.experts;
  const auto ranks = static_cast<double>(terms.layout.expert_ranks), choices = static_cast<double>(experts.per_token);
  const auto tokens =
      static_cast<double>(terms.layout.micro_batch * terms.recipe.sequence / terms.layout.context_ranks);
  const double imbalance = imbalance_of(terms, tokens);
  PieceCost block = narrow.without(one);
  block += passed_by_tokens(one, choices, imbalance);
  const PieceCost held = held_by_experts(one, static_cast<double>(experts.count) / ranks);
  block += held;
  block.expert_parameters = held.parameters;
  block.expert_gradients = held.gradients;
  block.expert_states = held.states;
  const double rows = terms.layout.sequence_parallel ? tokens / static_cast<double>(terms.layout.tensor_ranks) : tokens;
  const double bytes = rows * static_cast<double>(terms.spec.hidden * size_of(compute_dtype(terms.recipe.precision)));
  block.exchange_forward = block.exchange_backward = 2 * way_seconds(terms, bytes, imbalance);
  return block;
}

/// ZeRO-R's P_a (Rajbhandari et al. 2020, section 6.1): each tensor rank keeps its part of a block's input, and all of it is
/// gathered before the block is computed again.
void partition_checkpoint(PieceCost& block, const PieceTerms& terms) {
  const ParallelLayout& layout = terms.layout;
  const std::int64_t rows = layout.micro_batch * terms.recipe.sequence / layout.context_ranks;
  const auto input = static_cast<double>(rows * terms.spec.hidden * size_of(compute_dtype(terms.recipe.precision)));
  block.saved -= input * (1 - 1 / static_cast<double>(layout.tensor_ranks));
  block.working += input;
  block.backward_sends += seconds_of(Collective::kAllGather, input, tensor_group(layout, terms.cluster), terms.cluster);
}

Result<StagePieces> line_pieces(const PieceTerms& terms) {
  const ModelSpec& spec = terms.spec;
  if (spec.experts.count == 0) return dense_pieces(terms, spec.ffn);
  const std::int64_t width = spec.experts.width > 0 ? spec.experts.width : spec.ffn;
  auto narrow = dense_pieces(terms, width);
  if (!narrow) return narrow;
  const auto wide = dense_pieces(terms, 2 * width);
  if (!wide) return wide;
  const PieceCost mixed = expert_block(terms, narrow->block, wide->block.without(narrow->block));
  if (spec.experts.every < 2) {
    narrow->block = mixed;
    return narrow;
  }
  auto dense = dense_pieces(terms, spec.ffn);
  if (!dense) return dense;
  const double share = 1.0 / static_cast<double>(spec.experts.every);
  dense->block = dense->block.times(1 - share);
  dense->block += mixed.times(share);
  return dense;
}

}  // namespace

Result<StagePieces> stage_pieces(const ModelSpec& spec, const Recipe& recipe, const ParallelLayout& layout,
                                 const BlockChoices& choices, const Cluster& cluster) {
  PieceTerms terms{.spec = spec, .recipe = recipe, .layout = layout, .choices = choices, .cluster = cluster};
  if (choices.groups) {
    const auto gating = two_level_gating(spec.experts, layout, *choices.groups);
    if (!gating) return fail(gating.error());
    terms.gating = *gating;
  }
  if (layout.tensor_layout != TensorLayout::kLine) return grid_pieces(terms);
  auto pieces = line_pieces(terms);
  if (pieces && layout.partitions_checkpoints) partition_checkpoint(pieces->block, terms);
  return pieces;
}

}  // namespace plimsoll
