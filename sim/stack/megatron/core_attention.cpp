#include "sim/stack/megatron/megatron_layers.h"

namespace plimsoll {
namespace {

struct Scores {
  std::int64_t batch = 1;  ///< sequences × heads
  std::int64_t rows = 1;
  std::int64_t keys = 1;
  std::int64_t width = 1;
  bool causal = true;

  [[nodiscard]] Shape shape() const { return {batch, rows, keys}; }
};

Scores scores_of(const ModelSpec& spec, const MegatronCut& cut) {
  return {.batch = cut.batch * spec.heads / cut.tensor_ranks, .rows = cut.sequence, .keys = cut.sequence, .width = spec.head_dim,
          .causal = spec.causal};
}

Tensor joined_gradient(Tape& tape, const Tensor& qkv) {
  tape.stream(2 * traffic(qkv), qkv.dtype);
  return tape.empty(qkv.shape, qkv.dtype);
}

Tensor unfused(Tape& tape, const Tensor& qkv, const Shape& result, const Scores& scores, const MegatronCut& cut) {
  // The product is added to a buffer that is not read, and a local of the module holds its result until it returns.
  Tensor added_to = tape.empty(scores.shape(), qkv.dtype);
  const Tensor raw = tape.empty(scores.shape(), qkv.dtype);
  tape.product(scores.batch, scores.rows, scores.keys, scores.width, qkv.dtype);
  added_to = {};
  const Tensor shares = tape.empty(scores.shape(), qkv.dtype);
  const double bytes = traffic(shares);
  tape.stream(2 * bytes, qkv.dtype);
  const Tensor mask = cut.dropout > 0 ? tape.empty(scores.shape(), kMaskType) : Tensor{};
  const Tensor dropped = mask ? tape.empty(scores.shape(), qkv.dtype) : shares;
  if (mask) tape.stream(2.5 * bytes, qkv.dtype);
  Tensor by_head = tape.empty(result, qkv.dtype);
  tape.product(scores.batch, scores.rows, scores.width, scores.keys, qkv.dtype);
  Tensor out = tape.empty(result, qkv.dtype);
  by_head = {};
  return tape.record(std::move(out), {&qkv}, [=, saved = qkv.detached(), kept = Tensors{shares.detached(), dropped.detached()}](Tape& t,
                                                                                                                    Tensors gradients) {
    const Tensor values = t.empty(gradients[0].shape, saved.dtype);
    Tensor spread = t.empty(scores.shape(), saved.dtype);
    t.product(scores.batch, scores.rows, scores.keys, scores.width, saved.dtype);
    t.turned_product(scores.batch, scores.keys, scores.width, scores.rows, saved.dtype);
    if (mask) spread = t.empty(scores.shape(), saved.dtype);
    t.stream(4 * bytes, saved.dtype);
    const Tensor queries = t.empty(gradients[0].shape, saved.dtype);
    const Tensor keys = t.empty(gradients[0].shape, saved.dtype);
    t.product(scores.batch, scores.rows, scores.width, scores.keys, saved.dtype);
    t.turned_product(scores.batch, scores.keys, scores.width, scores.rows, saved.dtype);
    spread = {};
    Tensors results;
    results.push_back(joined_gradient(t, saved));
    return results;
  });
}

Tensor fused(Tape& tape, const Tensor& qkv, const Shape& result, const Scores& scores, const MegatronCut& cut) {
  const Tensor inner = tape.empty(result, qkv.dtype);
  const Tensor sums = tape.empty({scores.batch, scores.rows}, DType::kFp32);
  const double volume = static_cast<double>(scores.batch) * static_cast<double>(scores.rows) * static_cast<double>(scores.keys) *
                        static_cast<double>(scores.width) * (scores.causal ? 0.5 : 1.0);
  StackKernel kernel{.sort = StackKernelSort::kAttention, .dtype = qkv.dtype, .causal = scores.causal, .batch = scores.batch,
                     .m = scores.rows, .n = scores.keys, .k = scores.width, .flops = 4 * volume,
                     .bytes = static_cast<double>(qkv.bytes().count + inner.bytes().count)};
  tape.launch(kernel);
  Tensor out = cut.copies_attention ? tape.empty(result, qkv.dtype) : inner;
  if (cut.copies_attention) tape.stream(2 * traffic(out), qkv.dtype);
  return tape.record(std::move(out), {&qkv}, [=, saved = qkv.detached(), kept = Tensors{inner, sums}](Tape& t, Tensors gradients) {
    StackKernel again = kernel;
    again.backward = true;
    again.flops *= 2.5;
    again.bytes *= 2.5;
    const Tensor wide = t.empty(inner.shape, DType::kFp32);
    const Tensor parts = t.empty(saved.shape, saved.dtype);
    t.launch(again);
    gradients.clear();
    Tensors results;
    results.push_back(joined_gradient(t, saved));
    return results;
  });
}

Tensor once(Tape& tape, const Tensor& qkv, const ModelSpec& spec, const MegatronCut& cut) {
  const Shape result{cut.rows(), spec.attention_width() / cut.tensor_ranks};
  const Scores scores = scores_of(spec, cut);
  return cut.fused_attention ? fused(tape, qkv, result, scores, cut) : unfused(tape, qkv, result, scores, cut);
}

}  // namespace

Tensor core_attention(Tape& tape, const Tensor& qkv, const ModelSpec& spec, const MegatronCut& cut) {
  if (!cut.recomputes_attention) return once(tape, qkv, spec, cut);
  return checkpoint(tape, qkv, [&tape, &spec, cut](const Tensor& x) { return once(tape, x, spec, cut); });
}

}  // namespace plimsoll
