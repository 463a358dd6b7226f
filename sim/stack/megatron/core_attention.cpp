#include <utility>

#include "sim/stack/megatron/attention_heads.h"

namespace plimsoll {
namespace {

struct Scores {
  std::int64_t batch = 1;  ///< sequences × heads
  std::int64_t rows = 1;
  std::int64_t keys = 1;
  std::int64_t width = 1;  ///< of a head's queries and keys
  std::int64_t value_width = 1;
  bool causal = true;
  Shape queries, result;  ///< [rows, heads · width] and [rows, heads · value_width]

  [[nodiscard]] Shape shape() const { return {batch, rows, keys}; }
};

Scores scores_of(const ModelSpec& spec, const MegatronCut& cut) {
  const std::int64_t heads = spec.heads / cut.tensor_ranks;
  const std::int64_t width = spec.latent.exists() ? spec.latent.key_dim() : spec.head_dim;
  const std::int64_t value_width = spec.latent.exists() ? spec.latent.value_dim : spec.head_dim;
  return {.batch = cut.batch * heads, .rows = cut.sequence, .keys = cut.sequence, .width = width, .value_width = value_width,
          .causal = spec.causal, .queries = {cut.rows(), heads * width}, .result = {cut.rows(), heads * value_width}};
}

/// Gradients of what attention read, from those of queries, keys and values: one tensor where all lies side by side.
Tensors input_gradients(Tape& tape, const RankHeads& read, Tensors apart) {
  if (read.are_apart()) return apart;
  tape.stream(2 * traffic(read.queries), read.queries.dtype);
  return only(tape.empty(read.queries.shape, read.queries.dtype));
}

std::int64_t bytes_of(const RankHeads& heads) {
  const std::int64_t others = heads.are_apart() ? heads.keys.bytes().count + heads.values.bytes().count : 0;
  return heads.queries.bytes().count + others;
}

/// Where a kernel writes the gradients of what it read.
Tensors gradients_like(Tape& tape, const RankHeads& read) {
  Tensors made;
  for (const Tensor* part : {&read.queries, &read.keys, &read.values}) {
    if (!part->shape.empty()) made.push_back(tape.empty(part->shape, part->dtype));
  }
  return made;
}

/// What the kernel reads, and saves.
RankHeads saved_of(Tape& tape, const RankHeads& heads, const MegatronCut& cut) {
  if (!heads.are_apart() || !cut.copies_attention) return detached(heads);
  const auto batch_first = [&](const Tensor& x) {
    tape.stream(2 * traffic(x), x.dtype);
    return tape.empty(x.shape, x.dtype);
  };
  return {.queries = batch_first(heads.queries), .keys = batch_first(heads.keys), .values = batch_first(heads.values)};
}

/// Sizes of what is read, without memory.
RankHeads shapes_of(RankHeads heads) {
  for (Tensor* part : {&heads.queries, &heads.keys, &heads.values}) *part = {.storage = nullptr, .shape = part->shape, .dtype = part->dtype};
  return heads;
}

Tensor unfused(Tape& tape, const RankHeads& heads, const ModelSpec& spec, const Scores& scores, const MegatronCut& cut) {
  const DType type = heads.queries.dtype;
  const RankHeads saved = of_every_head(tape, heads, spec);
  // The product is added to a buffer that is not read, and a local of the module holds its result until it returns.
  Tensor added_to = tape.empty(scores.shape(), type);
  const Tensor raw = tape.empty(scores.shape(), type);
  tape.product(scores.batch, scores.rows, scores.keys, scores.width, type);
  added_to = {};
  const Tensor shares = tape.empty(scores.shape(), type);
  const double bytes = traffic(shares);
  tape.stream(2 * bytes, type);
  const Tensor mask = cut.dropout > 0 ? tape.empty(scores.shape(), kMaskType) : Tensor{};
  const Tensor dropped = mask ? tape.empty(scores.shape(), type) : shares;
  if (mask) tape.stream(2.5 * bytes, type);
  Tensor by_head = tape.empty(scores.result, type);
  tape.product(scores.batch, scores.rows, scores.value_width, scores.keys, type);
  Tensor out = tape.empty(scores.result, type);
  by_head = {};
  return tape.record(std::move(out), {&heads.queries, &heads.keys, &heads.values},
                     [=, read = shapes_of(heads), kept = Tensors{shares.detached(), dropped.detached()}, saved = saved](Tape& t, Tensors gradients) {
    Tensor values = t.empty(gradients[0].shape, type);
    Tensor spread = t.empty(scores.shape(), type);
    t.product(scores.batch, scores.rows, scores.keys, scores.value_width, type);
    t.turned_product(scores.batch, scores.keys, scores.value_width, scores.rows, type);
    if (mask) spread = t.empty(scores.shape(), type);
    t.stream(4 * bytes, type);
    Tensor queries = t.empty(scores.queries, type);
    Tensor keys = t.empty(scores.queries, type);
    t.product(scores.batch, scores.rows, scores.width, scores.keys, type);
    t.turned_product(scores.batch, scores.keys, scores.width, scores.rows, type);
    spread = {};
    keys = summed_over_heads(t, std::move(keys), read.keys);
    values = summed_over_heads(t, std::move(values), read.values);
    return input_gradients(t, read, {std::move(queries), std::move(keys), std::move(values)});
  });
}

Tensor fused(Tape& tape, const RankHeads& heads, const Scores& scores, const MegatronCut& cut) {
  const DType type = heads.queries.dtype;
  const RankHeads saved = saved_of(tape, heads, cut);
  const Tensor inner = tape.empty(scores.result, type);
  const Tensor sums = tape.empty({scores.batch, scores.rows}, DType::kFp32);
  const double pairs = static_cast<double>(scores.batch) * static_cast<double>(scores.rows) * static_cast<double>(scores.keys) * (scores.causal ? 0.5 : 1.0);
  const auto width = static_cast<double>(scores.width), value_width = static_cast<double>(scores.value_width);
  StackKernel kernel{.sort = StackKernelSort::kAttention, .dtype = type, .causal = scores.causal, .batch = scores.batch,
                     .m = scores.rows, .n = scores.keys, .k = scores.width, .flops = 2 * pairs * (width + value_width),
                     .bytes = static_cast<double>(bytes_of(heads) + inner.bytes().count)};
  tape.launch(kernel);
  Tensor out = cut.copies_attention ? tape.empty(scores.result, type) : inner;
  if (cut.copies_attention) tape.stream(2 * traffic(out), type);
  return tape.record(std::move(out), {&heads.queries, &heads.keys, &heads.values},
                     [=, read = shapes_of(heads), kept = Tensors{inner, sums}, saved = saved](Tape& t, Tensors gradients) {
    StackKernel again = kernel;
    again.backward = true;
    again.flops = 2 * pairs * (3 * width + 2 * value_width);  // scores once more, and four gradients
    again.bytes *= 2.5;
    const Tensor wide = t.empty(scores.queries, DType::kFp32);
    Tensors parts = gradients_like(t, read);
    t.launch(again);
    gradients.clear();
    return input_gradients(t, read, std::move(parts));
  });
}

Tensor once(Tape& tape, const RankHeads& heads, const ModelSpec& spec, const MegatronCut& cut) {
  const Scores scores = scores_of(spec, cut);
  return cut.fused_attention ? fused(tape, heads, scores, cut) : unfused(tape, heads, spec, scores, cut);
}

}  // namespace

Tensor core_attention(Tape& tape, const RankHeads& heads, const ModelSpec& spec, const MegatronCut& cut) {
  if (!cut.recomputes_attention) return once(tape, heads, spec, cut);
  if (!heads.are_apart()) {
    return checkpoint(tape, heads.queries, [&tape, &spec, cut](const Tensor& x) { return once(tape, {.queries = x, .keys = {}, .values = {}}, spec, cut); });
  }
  return checkpoint(tape, Tensors{heads.queries, heads.keys, heads.values}, [&tape, &spec, cut](const Tensors& x) {
    return once(tape, {.queries = x[0], .keys = x[1], .values = x[2]}, spec, cut);
  });
}

}  // namespace plimsoll
