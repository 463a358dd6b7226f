#include "core/graph/op_work.h"

#include <algorithm>

#include "core/graph/expert_work.h"
#include "core/graph/optimizer_state.h"
#include "core/model/base_storage.h"
#include "core/model/model_spec.h"

namespace plimsoll {
namespace {

// Operations an element, counted from the kernels' formulas (an exponential or a root counts as one).
constexpr double kNormFlops = 8;
constexpr double kNormBackwardFlops = 14;
constexpr double kActivationFlops = 12;
constexpr double kLossFlops = 5;

double product(double a, double b, double c) { return 2.0 * a * b * c; }

double real(std::int64_t n) { return static_cast<double>(n); }

bool of_two_stacks(OpKind kind) { return kind >= OpKind::kBiasedAttention && kind <= OpKind::kCrossAttentionBackward; }

bool is_cross(OpKind kind) { return kind == OpKind::kCrossAttention || kind == OpKind::kCrossAttentionBackward; }

/// Numbers of a bias of distances.
std::int64_t bias_numbers(const OpShape& s) { return s.heads * distance_count(s.sequence); }

/// Keys that a query sees, in the mean over a sequence's queries. Of a decoder that writes, `positions` tokens are cached
/// before them, and a window (`inputs`) bounds what each sees.
double seen_keys(const OpShape& s) {
  if (!is_causal(static_cast<AttentionKind>(s.variant))) return real(s.positions + s.sequence);
  if (s.inputs == 0) return real(s.positions) + 0.5 * real(s.sequence + 1);
  const double growing = real(std::clamp<std::int64_t>(s.inputs - s.positions, 0, s.sequence));
  return (growing * real(s.positions) + 0.5 * growing * (growing + 1) + (real(s.sequence) - growing) * real(s.inputs)) /
         real(s.sequence);
}

/// One product of the visible part of the score matrix with a head-sized operand: of its lower triangle, or of all of it
/// (padding counts, as its kernels' work does not depend on the data).
double score_product(OpKind kind, const OpShape& s) {
  return product(real(s.rows), is_cross(kind) ? real(s.inputs) : seen_keys(s), real(s.heads * s.head_dim));
}

/// Tokens of the micro-batch's sequences whose keys and values attention reads.
std::int64_t key_rows(const OpShape& s) {
  if (s.positions == 0 && s.inputs == 0) return s.rows;
  const std::int64_t seen = s.positions + s.sequence;
  const std::int64_t keys = s.inputs > 0 ? std::min(seen, s.inputs + s.sequence - 1) : seen;
  return s.rows / s.sequence * keys;
}

/// The same for attention to another sequence.
std::int64_t cross_rows(const OpShape& s) { return s.sequence > 0 ? s.rows / s.sequence * s.inputs : 0; }

std::int64_t qkv_width(const OpShape& s) { return (s.heads + 2 * s.kv_heads) * s.head_dim; }

/// Width of a row's key and value heads.
std::int64_t keys_width(const OpShape& s) { return 2 * s.kv_heads * s.head_dim; }

/// Width of a row's query and key heads, which are rotated and may be normalized.
std::int64_t query_key_width(const OpShape& s) { return (s.heads + s.kv_heads) * s.head_dim; }

std::int64_t rotated_width(const OpShape& s) { return (s.heads + s.kv_heads) * (s.inputs == 0 ? s.head_dim : s.inputs); }

bool is_layer_norm(const OpShape& s) { return s.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm); }

/// Weights that an update writes.
std::int64_t updated_elements(OpKind kind, const OpShape& s) {
  switch (kind) {
    case OpKind::kAdafactor:
    case OpKind::kSm3:
    case OpKind::kLamb:
    case OpKind::kMuon:
    case OpKind::kLars: return s.rows * s.inputs;
    default: return s.rows;
  }
}

/// Operations a weight, counted from the kernels' formulas.
double update_flops(OpKind kind) {
  switch (kind) {
    case OpKind::kSgd: return 4;
    case OpKind::kMomentum: return 8;
    case OpKind::kAdam: return 15;
    case OpKind::kLion: return 9;
    case OpKind::kAdam8bit: return 14 + 2 * 10;  // and for each moment: scaling both ways, and eight comparisons
    case OpKind::kAdafactor: return 2 + 2 + 6 + 6;
    case OpKind::kSm3: return 9 + 4;
    case OpKind::kLamb: return 17 + 10;
    case OpKind::kLars: return 4 + 7;
    case OpKind::kMuon: return 4 + 6;  // beside the products, which newton_schulz_flops counts
    default: return 14;  // AdamW
  }
}

/// Whether an update goes over a group's elements, whatever tensors they belong to.
bool takes_group(OpKind kind) {
  return kind == OpKind::kSgd || kind == OpKind::kMomentum || kind == OpKind::kAdam || kind == OpKind::kLion || kind == OpKind::kAdamW;
}

/// Bytes of an update. Rules that need a tensor's norm or sums first pass over it more than once, and the tensor is taken not
/// to stay in a cache between passes.
Bytes update_traffic(OpKind kind, const OpShape& s, std::int64_t e, std::int64_t state) {
  const std::int64_t n = updated_elements(kind, s);
  if ((takes_group(kind) || kind == OpKind::kMuon) && s.variant == 1) state = e;
  const std::int64_t factors = s.rows > 1 ? s.rows + s.inputs : s.inputs;  // of Adafactor and SM3
  const std::int64_t published = e != state ? e : 0;
  switch (kind) {
    case OpKind::kSgd: return Bytes(n * (2 * state + e + published));
    case OpKind::kMomentum:
    case OpKind::kLion: return Bytes(n * (4 * state + e + published));
    case OpKind::kAdam8bit: return Bytes(n * (2 * state + e + published) + 4 * quantized_bytes(n));
    case OpKind::kAdafactor: return Bytes(n * (3 * state + 4 * e + published) + 2 * state * factors);
    case OpKind::kSm3: return Bytes(n * (2 * state + (s.rows > 1 ? 2 : 1) * e + published) + 2 * state * factors);
    case OpKind::kLamb: return Bytes(n * (9 * state + e + published));
    case OpKind::kLars: return Bytes(n * (5 * state + 2 * e + published));
    case OpKind::kMuon: return Bytes(n * (4 * state + e + published) + kNewtonSchulzSteps * 4 * 2 * n);
    default: return Bytes(n * (6 * state + e + published));
  }
}

/// Width of a feed-forward activation's input; `outputs` is the width of its output.
std::int64_t activation_in(const OpShape& s) { return is_gated(static_cast<ActivationKind>(s.variant)) ? 2 * s.outputs : s.outputs; }

}  // namespace

double newton_schulz_flops(const OpShape& s) {
  const double rows = real(s.rows / s.terms), columns = real(s.inputs);
  const double m = std::min(rows, columns), n = std::max(rows, columns);
  return real(kNewtonSchulzSteps * s.terms) * (2 * product(m, m, n) + product(m, m, m));
}

double flops_of(OpKind kind, const OpShape& s) {
  const double elements = real(s.rows) * real(s.inputs);
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight: return product(real(s.rows), real(s.inputs), real(s.outputs));
    case OpKind::kAttention:
    case OpKind::kBiasedAttention:
    case OpKind::kCrossAttention:
    case OpKind::kAttentionStep:
      return 2.0 * score_product(kind, s);
    case OpKind::kAttentionBackward:
    case OpKind::kBiasedAttentionBackward:
    case OpKind::kCrossAttentionBackward:
    case OpKind::kAttentionStepBackward:
      return 5.0 * score_product(kind, s);
    case OpKind::kDistanceBias:
    case OpKind::kDistanceBiasBackward:
      return real(bias_numbers(s));
    case OpKind::kKeysValues: return 0;
    case OpKind::kKeysValuesBackward: return real(s.rows * keys_width(s));
    case OpKind::kNorm: return kNormFlops * elements;
    case OpKind::kNormBackward: return kNormBackwardFlops * elements;
    case OpKind::kActivation: return kActivationFlops * real(s.rows) * real(s.outputs);
    case OpKind::kActivationBackward: return 2.0 * kActivationFlops * real(s.rows) * real(s.outputs);
    case OpKind::kHeadNorm: return kNormFlops * real(s.rows * query_key_width(s));
    case OpKind::kHeadNormBackward: return kNormBackwardFlops * real(s.rows * query_key_width(s));
    case OpKind::kRope:
    case OpKind::kRopeBackward: return 3.0 * real(s.rows * rotated_width(s));
    case OpKind::kCrossEntropy:
    case OpKind::kLoss: return kLossFlops * real(s.rows) * real(s.outputs);
    case OpKind::kSgd:
    case OpKind::kMomentum:
    case OpKind::kAdam:
    case OpKind::kLion:
    case OpKind::kAdam8bit:
    case OpKind::kAdafactor:
    case OpKind::kSm3:
    case OpKind::kLamb:
    case OpKind::kLars:
    case OpKind::kAdamW: return update_flops(kind) * real(updated_elements(kind, s));
    case OpKind::kMuon: return update_flops(kind) * real(updated_elements(kind, s)) + newton_schulz_flops(s);
    case OpKind::kSquaredNorm: return 2.0 * real(s.rows);
    case OpKind::kAccumulate: return real(s.rows);
    case OpKind::kClipFactor: return real(s.terms);
    case OpKind::kDequantize:
    case OpKind::kAdd:
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward:
    case OpKind::kClassToken:
    case OpKind::kClassTokenBackward: return elements;
    case OpKind::kFirstToken:
    case OpKind::kFirstTokenBackward: return 0;
    case OpKind::kRouter:
    case OpKind::kDispatch:
    case OpKind::kExpertLinear:
    case OpKind::kExpertDropout:
    case OpKind::kCombine:
    case OpKind::kExpertBalance:
    case OpKind::kCombineBackward:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight:
    case OpKind::kDispatchBackward:
    case OpKind::kRouterBackward:
    case OpKind::kShareRouting: return expert_flops(kind, s);
    case OpKind::kGatherRoutings:
    case OpKind::kToExperts:
    case OpKind::kFromExperts: return 0;
  }
  return 0;
}

Bytes traffic_of(OpKind kind, const OpShape& s, DType dtype) {
  const std::int64_t e = size_of(dtype);
  const std::int64_t state = dtype == DType::kFp64 ? 8 : 4;
  const std::int64_t elements = s.rows * s.inputs;
  const std::int64_t statistics = 2 * s.rows * state;
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight: return Bytes(e * (elements + s.inputs * s.outputs + s.rows * s.outputs));
    case OpKind::kAttention:
      return Bytes(e * (2 * s.rows * s.heads + 2 * key_rows(s) * s.kv_heads) * s.head_dim + state * s.rows * s.heads);
    case OpKind::kAttentionBackward:
      return Bytes(e * s.rows * (2 * qkv_width(s) + 2 * s.heads * s.head_dim) + state * s.rows * s.heads);
    case OpKind::kBiasedAttention:
      return Bytes(e * s.rows * (qkv_width(s) + s.heads * s.head_dim) + state * (s.rows * s.heads + bias_numbers(s)));
    case OpKind::kBiasedAttentionBackward:
      return Bytes(e * s.rows * 2 * (qkv_width(s) + s.heads * s.head_dim) +
                   state * (s.rows * s.heads + 3 * bias_numbers(s)));
    case OpKind::kCrossAttention:
      return Bytes(e * (s.rows * 2 * s.heads * s.head_dim + cross_rows(s) * keys_width(s)) + state * s.rows * s.heads);
    case OpKind::kCrossAttentionBackward:
      return Bytes(e * (s.rows * 4 * s.heads * s.head_dim + 2 * cross_rows(s) * keys_width(s)) +
                   state * s.rows * s.heads);
    case OpKind::kDistanceBias:
    case OpKind::kDistanceBiasBackward:
      return Bytes(e * s.rows * s.heads + state * bias_numbers(s));
    case OpKind::kAttentionStep:  // what stands there is read and written
      return Bytes(e * s.rows * (3 * s.heads * s.head_dim + keys_width(s)) + 2 * state * s.rows * s.heads);
    case OpKind::kAttentionStepBackward:  // q, out, dout, dq both ways; keys, their gradients both ways
      return Bytes(e * s.rows * (5 * s.heads * s.head_dim + 3 * keys_width(s)) + state * s.rows * s.heads);
    case OpKind::kKeysValues: return Bytes(2 * e * s.rows * keys_width(s));
    case OpKind::kKeysValuesBackward: return Bytes(3 * e * s.rows * keys_width(s));
    case OpKind::kNorm: return Bytes(2 * e * elements + statistics);
    case OpKind::kNormBackward: return Bytes(4 * e * elements + statistics);
    case OpKind::kActivation: return Bytes(e * s.rows * (activation_in(s) + s.outputs));
    case OpKind::kActivationBackward: return Bytes(e * s.rows * (2 * activation_in(s) + s.outputs));
    case OpKind::kHeadNorm: return Bytes(2 * e * s.rows * qkv_width(s) + state * s.rows * (s.heads + s.kv_heads));
    case OpKind::kHeadNormBackward:
      return Bytes(3 * e * s.rows * query_key_width(s) + state * s.rows * (s.heads + s.kv_heads));
    case OpKind::kRope:
    case OpKind::kRopeBackward: return Bytes(2 * e * s.rows * rotated_width(s));
    case OpKind::kCrossEntropy: return Bytes(2 * e * s.rows * s.outputs);
    case OpKind::kLoss: return Bytes(e * s.rows * s.outputs);
    case OpKind::kSgd:
    case OpKind::kMomentum:
    case OpKind::kAdam:
    case OpKind::kLion:
    case OpKind::kAdam8bit:
    case OpKind::kAdafactor:
    case OpKind::kSm3:
    case OpKind::kLamb:
    case OpKind::kLars:
    case OpKind::kMuon:
    case OpKind::kAdamW: return update_traffic(kind, s, e, state);
    case OpKind::kSquaredNorm: return Bytes(s.rows * e);
    case OpKind::kAccumulate: return Bytes(s.rows * (e + 2 * state));
    case OpKind::kClipFactor: return Bytes(8 * (s.terms + 2));
    case OpKind::kDequantize: return bytes_in(static_cast<BaseStorage>(s.variant), elements, dtype) + Bytes(e * elements);
    case OpKind::kAdd: return Bytes(3 * e * elements);
    case OpKind::kEmbedding: return Bytes(2 * e * elements);
    case OpKind::kClassToken:
    case OpKind::kClassTokenBackward: return Bytes(e * (2 * elements + s.inputs * s.positions));
    case OpKind::kFirstToken: return Bytes(2 * e * elements);
    case OpKind::kFirstTokenBackward: return Bytes(e * elements * (1 + s.sequence));
    case OpKind::kEmbeddingBackward: return Bytes(e * (2 * elements + s.inputs * (s.outputs + s.positions)));
    case OpKind::kRouter:
    case OpKind::kDispatch:
    case OpKind::kExpertLinear:
    case OpKind::kExpertDropout:
    case OpKind::kCombine:
    case OpKind::kExpertBalance:
    case OpKind::kCombineBackward:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight:
    case OpKind::kDispatchBackward:
    case OpKind::kRouterBackward:
    case OpKind::kShareRouting: return expert_traffic(kind, s, dtype);
    case OpKind::kGatherRoutings:
    case OpKind::kToExperts:
    case OpKind::kFromExperts: return Bytes(0);  // exchanges
  }
  return Bytes(0);
}

std::int64_t bias_parts(OpKind kind, const OpShape& s) {
  const bool sums = kind == OpKind::kBiasedAttentionBackward && s.sequence > 0;
  return sums ? s.rows / s.sequence * bias_numbers(s) : 0;
}

std::int64_t attention_slice(OpKind kind, const OpShape& s, bool half) {
  const std::int64_t keys = is_cross(kind) ? s.inputs : s.sequence;
  const std::int64_t scores = kAttentionRows * keys, tile = kAttentionRows * s.head_dim, head = keys * s.head_dim;
  if (attends_forward(kind) && kind != OpKind::kAttentionStep) return scores + (half ? 2 * tile + 2 * head : 0);
  if (kind == OpKind::kAttentionStep) return scores + 2 * tile + (half ? 2 * head : 0);  // what it joins is apart
  return 2 * scores + (half ? 4 * tile + 4 * head : 0);
}

Bytes workspace_of(OpKind kind, const OpShape& s, DType dtype, std::int64_t workers) {
  const std::int64_t e = dtype == DType::kFp64 ? 8 : 4;
  const bool steps = kind == OpKind::kAttentionStep || kind == OpKind::kAttentionStepBackward;
  if (steps)
    return Bytes(std::max<std::int64_t>(1, workers) * attention_slice(kind, s, size_of(dtype) < e) * e);  // no GPU kernel
  const bool half = size_of(dtype) < e, attends = attends_forward(kind) || attends_backward(kind);
  if (attends && workers > 0 && (half || of_two_stacks(kind)))
    return Bytes((bias_parts(kind, s) + workers * attention_slice(kind, s, half)) * e);
  if (kind == OpKind::kNormBackward) {
    const std::int64_t tiles = (s.rows + kReductionRows - 1) / kReductionRows;
    return Bytes(tiles * (is_layer_norm(s) ? 2 : 1) * s.inputs * e);
  }
  if (kind == OpKind::kHeadNormBackward) {
    const std::int64_t tiles = (s.rows + kReductionRows - 1) / kReductionRows;
    return Bytes(tiles * 2 * s.head_dim * e);
  }
  if (kind == OpKind::kMuon) return Bytes((3 * 2 * s.rows * s.inputs / s.terms + 7) / 8 * 8);
  if (kind == OpKind::kRouterBackward) return Bytes(s.rows * router_outputs(s) * e);
  if (kind == OpKind::kSm3) return Bytes(s.rows > 1 ? s.rows * e : 0);  // the rows' new sums, while columns need the old ones
  if (attends_forward(kind)) return Bytes(std::max<std::int64_t>(1, workers * kAttentionRows * s.sequence) * e);
  if (attends_backward(kind)) {
    if (workers > 0) return Bytes(workers * (2 * kAttentionRows + 1) * s.sequence * e);
    // Fused GPU kernels: an fp32 accumulator of dq and one dot product a row and head (Dao 2023, FlashAttention-2, algorithm 2).
    return Bytes(s.rows * s.heads * (s.head_dim + 1) * 4);
  }
  return Bytes(0);
}

}  // namespace plimsoll
