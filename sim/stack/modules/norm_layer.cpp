#include "sim/stack/modules/transformer_layers.h"
#include "sim/stack/operators/fused_operations.h"

namespace plimsoll {
namespace {

/// x · 1 / √mean(x²) in fp32, kernel by kernel.
Tensor normalized(Tape& tape, const Tensor& input) {
  const Tensor x = cast(tape, input, DType::kFp32);
  const Tensor root = from_result(tape, shift(tape, mean_of_rows(tape, power(tape, x))));
  return multiply(tape, x, root);
}

/// (x − mean) · 1 / √mean((x − mean)²) in fp32; the difference is taken twice, and both are kept.
Tensor centred(Tape& tape, const Tensor& input) {
  const Tensor x = cast(tape, input, DType::kFp32);
  const Tensor mean = mean_of_rows(tape, x);
  const Tensor root = from_result(tape, shift(tape, mean_of_rows(tape, power(tape, add(tape, x, mean)))));
  return multiply(tape, add(tape, x, mean), root);
}

Tensor composite(Tape& tape, const Tensor& x, Parameter& weight, NormCode code) {
  const DType type = x.dtype;
  if (code == NormCode::kComposite) return multiply(tape, weight.use(), cast(tape, normalized(tape, x), type));
  const Tensor plain = code == NormCode::kCentredInFp32 ? centred(tape, x) : normalized(tape, x);
  return cast(tape, multiply(tape, plain, cast(tape, weight.use(), DType::kFp32)), type);
}

}  // namespace

Tensor weightless_norm(Tape& tape, const Tensor& x) { return cast(tape, normalized(tape, x), x.dtype); }

Tensor norm_layer(Tape& tape, const Tensor& x, const Weights& weights, const BlockContext& context) {
  if (weights.weight == nullptr) return cast(tape, layer_norm(tape, cast(tape, x, DType::kFp32), weights), x.dtype);
  if (context.rules.liger || context.rules.unsloth) {
    const std::int64_t processors = tape.options().sum_blocks.multiprocessors;
    return kernel_rms_norm(tape, x, *weights.weight, {.multiprocessors = processors, .in_place = context.rules.norms_in_place});
  }
  const NormCode code = context.rules.fused_pointwise ? NormCode::kFused : context.rules.norm;
  if (context.spec.norm == NormKind::kLayerNorm && code != NormCode::kCentredInFp32) return layer_norm(tape, x, weights);
  return code == NormCode::kFused ? fused_rms_norm(tape, x, *weights.weight) : composite(tape, x, *weights.weight, code);
}

}  // namespace plimsoll
