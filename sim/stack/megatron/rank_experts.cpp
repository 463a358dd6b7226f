#include "sim/stack/megatron/rank_experts.h"

#include <fmt/format.h>

#include <utility>

#include "sim/stack/megatron/expert_dispatch.h"
#include "sim/stack/megatron/rank_rows.h"

namespace plimsoll {
namespace {

/// Transformer Engine runs grouped products on so many streams, each with a cuBLAS workspace.
constexpr int kProductStreams = 4;

/// Logits of every expert: keeps what it reads, and computes gradients in the gates' type.
Tensor router_logits(Tape& tape, const Tensor& x, Parameter& router, DType gates) {
  const Tensor weight = router.use();
  const std::int64_t rows = x.shape[0], width = x.shape[1], count = weight.shape[0];
  Tensor logits = tape.empty({rows, count}, gates);
  tape.product(1, rows, count, width, x.dtype, gates);
  return tape.record(std::move(logits), {&x, &weight}, [=, saved = x.detached(), type = weight.dtype](Tape& t, Tensors) {
    Tensors results(2);
    results[0] = t.empty({rows, width}, gates);
    t.product(1, rows, width, count, gates);
    if (gates != saved.dtype) results[0] = t.empty({rows, width}, saved.dtype);
    {
      const Tensor wide = gates != saved.dtype ? t.empty({rows, width}, gates) : saved;
      results[1] = t.empty({count, width}, type);
      t.turned_product(1, count, width, rows, gates);
    }
    return results;
  });
}

/// Each token's shares of its experts, 0 for all others: keeps the softmax of the chosen logits and their places, and that of all logits
/// where an auxiliary loss evens loads out, or it is the share (moe-router-pre-softmax, in place of that of the chosen). Of scores by a sigmoid all,
/// the chosen and their sum (topk_routing_with_score_function of megatron/core/transformer/moe/moe_utils.py).
Tensor chosen_shares(Tape& tape, const Tensor& logits, const ExpertSpec& experts) {
  const std::int64_t rows = logits.shape[0];
  const bool before = experts.sigmoid_scores || (experts.plain_gates && experts.gating == GatingKind::kTopK);
  Tensors kept{tape.empty({rows, experts.per_token}, kIndexType), tape.empty({rows, before ? experts.count : experts.per_token}, DType::kFp32)};
  if (experts.sigmoid_scores) kept.push_back(tape.empty({rows, experts.per_token + 1}, logits.dtype));
  if (experts.balance > 0 || experts.gating == GatingKind::kSwitch) kept.push_back(tape.empty(logits.shape, DType::kFp32));
  Tensor out = tape.empty(logits.shape, logits.dtype);
  tape.stream(4 * traffic(logits), logits.dtype);
  return tape.record(std::move(out), {&logits}, [kept = std::move(kept), shape = logits.shape, type = logits.dtype](Tape& t, Tensors) {
    Tensor back = t.empty(shape, type);
    t.stream(4 * traffic(back), type);
    return only(std::move(back));
  });
}

/// Rows sorted by expert, an equal part of them for each expert's weight: keeps the rows, which all experts' weights share.
Tensor expert_linear(Tape& tape, const Tensor& x, const std::vector<Weights>& own, const MegatronCut& cut, bool grouped) {
  const auto count = static_cast<std::int64_t>(own.size());
  Tensors weights;
  for (const Weights& one : own) weights.push_back(one.weight->use());
  std::vector<const Tensor*> inputs{&x};
  for (const Tensor& weight : weights) inputs.push_back(&weight);
  const std::int64_t rows = x.shape[0], outputs = weights.front().shape[0], width = weights.front().shape[1];
  const std::int64_t each = (rows + count - 1) / count, launches = grouped ? 1 : count, together = grouped ? count : 1;
  Tensor out = tape.empty({rows, outputs}, x.dtype);
  for (std::int64_t i = 0; i < launches; ++i) tape.product(together, each, outputs, width, x.dtype);
  return tape.record(std::move(out), inputs, [=, saved = x.detached()](Tape& t, Tensors) {
    Tensors results(1 + static_cast<std::size_t>(count));
    results[0] = t.empty({rows, width}, saved.dtype);
    for (std::int64_t i = 0; i < launches; ++i) t.product(together, each, width, outputs, saved.dtype);
    for (std::int64_t i = 0; i < count; ++i) results[static_cast<std::size_t>(1 + i)] = weight_gradient(t, {outputs, width}, saved.dtype, cut);
    for (std::int64_t i = 0; i < launches; ++i) t.turned_product(together, outputs, width, each, saved.dtype);
    return results;
  });
}

/// activation(gate) · up · share in one kernel, which keeps what it reads (its fused SwiGLU with a weight a token).
Tensor weighted_gate(Tape& tape, const Tensor& x, const Tensor& shares) {
  Tensor out = tape.empty({x.shape[0], x.shape[1] / 2}, x.dtype);
  tape.stream(traffic(x) + traffic(out), x.dtype);
  return tape.record(std::move(out), {&x, &shares}, [saved = x.detached(), own = shares.detached()](Tape& t, Tensors gradients) {
    Tensors results;
    results.push_back(t.empty(saved.shape, saved.dtype));
    results.push_back(t.empty(own.shape, own.dtype));
    t.stream(2 * traffic(saved) + traffic(gradients[0]), saved.dtype);
    return results;
  });
}

/// Results of an activation times their tokens' shares: a wider product, where shares are wide, is made narrow again.
Tensor weighted(Tape& tape, const Tensor& x, const Tensor& shares) {
  const DType type = x.dtype, wide = shares.dtype;
  Tensor out = tape.empty(x.shape, wide);
  tape.stream(traffic(x) + traffic(out), wide);
  if (wide != type) out = cast(tape, out, type);
  return tape.record(std::move(out), {&x, &shares}, [=, saved = x.detached(), own = shares.detached()](Tape& t, Tensors gradients) {
    Tensors results(2);
    const Tensor dy = wide != type ? t.empty(saved.shape, wide) : gradients[0];
    results[0] = t.empty(saved.shape, wide);
    if (wide != type) results[0] = t.empty(saved.shape, type);
    const Tensor products = t.empty(saved.shape, wide);  // whose rows are summed for the shares
    results[1] = t.empty(own.shape, wide);
    t.stream(4 * traffic(products) + traffic(saved), wide);
    return results;
  });
}

}  // namespace

ExpertCut expert_cut(const StackSetup& setup, const MegatronCut& cut) {
  return {.ranks = setup.expert_ranks, .tensor_ranks = setup.expert_tensor_ranks.value_or(setup.tensor_ranks), .gathers = setup.gathers_tokens,
          .grouped = setup.grouped_experts.value_or(true), .adds_in_order = setup.adds_in_order, .gates = setup.wide_gates ? DType::kFp32 : cut.type};
}

std::int64_t arriving_rows(const ModelSpec& spec, const MegatronCut& cut, const ExpertCut& experts) {
  return cut.stream_rows() * experts.tensor_ranks * spec.experts.per_token;
}

RankExperts make_rank_experts(Tape& tape, const std::string& name, const ModelSpec& spec, const ExpertCut& cut, DType dtype) {
  RankExperts made;
  const std::int64_t h = spec.hidden, inner = spec.expert_width() / cut.tensor_ranks, wide = spec.expert_in_width() / cut.tensor_ranks;
  made.router = &tape.parameter(name + ".router", {spec.experts.count, h}, dtype);
  const auto expert = [&](const std::string& part, std::int64_t i, std::int64_t outputs, std::int64_t inputs) {
    Parameter& weight = tape.parameter(fmt::format("{}.expert {}.{}", name, i, part), {outputs, inputs}, dtype);
    weight.of_expert = true;
    return Weights{.weight = &weight};
  };
  for (std::int64_t i = 0; i < spec.experts.count / cut.ranks; ++i) {
    made.in.push_back(expert("in", i, wide, h));
    made.out.push_back(expert("out", i, h, inner));
  }
  return made;
}

Tensors expert_workspaces(Tape& tape, const ModelSpec& spec, const MegatronCut& cut, const ExpertCut& experts, Bytes workspace) {
  Tensors held;
  if (experts.grouped && workspace > Bytes(0)) {
    for (int i = 0; i < kProductStreams; ++i) held.push_back(tape.empty({workspace.count}, kMaskType, Holding::kWorkspace));
  }
  if (experts.gathers && experts.group() > 1) {
    held.push_back(tape.empty({cut.stream_rows() * experts.group(), spec.hidden}, cut.type, Holding::kWorkspace));
  }
  return held;
}

Tensor rank_experts(Tape& tape, const Tensor& x, const RankExperts& own, const ModelSpec& spec, const MegatronCut& cut,
                    const ExpertCut& experts) {
  const ExpertRows rows = expert_rows(spec, cut, experts);
  const Tensor scores = chosen_shares(tape, router_logits(tape, x, *own.router, experts.gates), spec.experts);
  const Tensor tokens = dispatch_tokens(tape, x, rows, experts);
  const Tensor shares = dispatch_shares(tape, scores, rows, experts);
  Tensor inner = expert_linear(tape, tokens, own.in, cut, experts.grouped);
  if (is_gated(spec.activation)) {
    inner = weighted_gate(tape, inner, shares);
  } else {
    inner = weighted(tape, from_input(tape, inner), shares);
  }
  return combine_tokens(tape, expert_linear(tape, std::exchange(inner, {}), own.out, cut, experts.grouped), rows, experts);
}

}  // namespace plimsoll
