#include "core/graph/attention_work.h"

#include <algorithm>

#include "core/graph/attention_kind.h"
#include "core/graph/head_width.h"

namespace plimsoll {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

bool of_two_stacks(OpKind kind) { return kind >= OpKind::kBiasedAttention && kind <= OpKind::kCrossAttentionBackward; }

bool is_cross(OpKind kind) { return kind == OpKind::kCrossAttention || kind == OpKind::kCrossAttentionBackward; }

bool is_step(OpKind kind) { return kind == OpKind::kAttentionStep || kind == OpKind::kAttentionStepBackward; }

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
  return 2.0 * real(s.rows) * (is_cross(kind) ? real(s.inputs) : seen_keys(s)) * real(s.heads * s.head_dim);
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

/// Heads' outputs, or their queries, in all rows.
std::int64_t outputs_of(const OpShape& s) { return s.rows * s.heads * s.head_dim; }

}  // namespace

double attention_flops(OpKind kind, const OpShape& s) {
  if (attends_forward(kind)) return 2.0 * score_product(kind, s);
  if (attends_backward(kind)) return 5.0 * score_product(kind, s);
  switch (kind) {
    case OpKind::kDistanceBias:
    case OpKind::kDistanceBiasBackward: return real(bias_numbers(s));
    case OpKind::kKeysValuesBackward: return real(s.rows * keys_width(s));
    default: return 0;  // keys and values are copied
  }
}

Bytes attention_traffic(OpKind kind, const OpShape& s, DType dtype) {
  const std::int64_t e = size_of(dtype), state = dtype == DType::kFp64 ? 8 : 4;
  const std::int64_t out = outputs_of(s), qkv = s.rows * qkv_width(s), keys = s.rows * keys_width(s);
  const std::int64_t sums = s.rows * s.heads;  // one a row and head
  switch (kind) {
    case OpKind::kAttention: return Bytes(e * (2 * out + key_rows(s) * keys_width(s)) + state * sums);
    case OpKind::kAttentionBackward: return Bytes(e * 2 * (qkv + out) + state * sums);
    case OpKind::kBiasedAttention: return Bytes(e * (qkv + out) + state * (sums + bias_numbers(s)));
    case OpKind::kBiasedAttentionBackward: return Bytes(e * 2 * (qkv + out) + state * (sums + 3 * bias_numbers(s)));
    case OpKind::kCrossAttention: return Bytes(e * (2 * out + cross_rows(s) * keys_width(s)) + state * sums);
    case OpKind::kCrossAttentionBackward: return Bytes(e * (4 * out + 2 * cross_rows(s) * keys_width(s)) + state * sums);
    case OpKind::kDistanceBias:
    case OpKind::kDistanceBiasBackward: return Bytes(e * sums + state * bias_numbers(s));
    case OpKind::kAttentionStep:  // what stands there is read and written
      return Bytes(e * (3 * out + keys) + 2 * state * sums);
    case OpKind::kAttentionStepBackward:  // q, out, dout, dq both ways; keys, their gradients both ways
      return Bytes(e * (5 * out + 3 * keys) + state * sums);
    case OpKind::kKeysValues: return Bytes(2 * e * keys);
    case OpKind::kKeysValuesBackward: return Bytes(3 * e * keys);
    default: return Bytes(0);
  }
}

std::int64_t bias_parts(OpKind kind, const OpShape& s) {
  const bool sums = kind == OpKind::kBiasedAttentionBackward && s.sequence > 0;
  return sums ? s.rows / s.sequence * bias_numbers(s) : 0;
}

std::int64_t attention_slice(OpKind kind, const OpShape& s, bool half) {
  const std::int64_t keys = is_cross(kind) ? s.inputs : s.sequence;
  const std::int64_t scores = kAttentionRows * keys, tile = kAttentionRows * s.head_dim, head = keys * s.head_dim;
  if (kind == OpKind::kAttentionStep) return scores + 2 * tile + (half ? 2 * head : 0);  // what it joins is apart
  if (attends_forward(kind)) return scores + (half ? 2 * tile + 2 * head : 0);
  return 2 * scores + (half ? 4 * tile + 4 * head : 0);
}

Bytes attention_workspace(OpKind kind, const OpShape& s, DType dtype, std::int64_t workers) {
  const std::int64_t e = dtype == DType::kFp64 ? 8 : 4, one_at_least = std::max<std::int64_t>(1, workers);
  const bool half = size_of(dtype) < e;
  if (is_step(kind)) return Bytes(one_at_least * attention_slice(kind, s, half) * e);  // no GPU kernel
  if (workers > 0 && (half || of_two_stacks(kind)))
    return Bytes((bias_parts(kind, s) + workers * attention_slice(kind, s, half)) * e);
  if (attends_forward(kind)) return Bytes(std::max<std::int64_t>(1, workers * kAttentionRows * s.sequence) * e);
  if (workers > 0) return Bytes(workers * (2 * kAttentionRows + 1) * s.sequence * e);
  // Fused GPU kernels: an fp32 accumulator of dq and one dot product a row and head (Dao 2023, FlashAttention-2, algorithm 2).
  return Bytes(s.rows * s.heads * (s.head_dim + 1) * 4);
}

}  // namespace plimsoll
