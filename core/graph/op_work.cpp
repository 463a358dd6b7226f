#include "core/graph/op_work.h"

#include "core/graph/attention_kind.h"
#include "core/graph/attention_work.h"
#include "core/graph/expert_work.h"
#include "core/graph/head_width.h"
#include "core/graph/op_family.h"
#include "core/graph/update_work.h"
#include "core/model/base_storage.h"
#include "core/model/model_spec.h"

namespace plimsoll {
namespace {

// Operations an element, counted from the kernels' formulas (an exponential or a root counts as one).
constexpr double kNormFlops = 8;
constexpr double kNormBackwardFlops = 14;
constexpr double kActivationFlops = 12;
constexpr double kLossFlops = 5;

double real(std::int64_t n) { return static_cast<double>(n); }

std::int64_t rotated_width(const OpShape& s) { return (s.heads + s.kv_heads) * (s.inputs == 0 ? s.head_dim : s.inputs); }

bool is_layer_norm(const OpShape& s) { return s.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm); }

/// Width of a feed-forward activation's input; `outputs` is the width of its output.
std::int64_t activation_in(const OpShape& s) { return is_gated(static_cast<ActivationKind>(s.variant)) ? 2 * s.outputs : s.outputs; }

double layer_flops(OpKind kind, const OpShape& s) {
  const double elements = real(s.rows) * real(s.inputs);
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight: return 2.0 * real(s.rows) * real(s.inputs) * real(s.outputs);
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
    case OpKind::kDequantize:
    case OpKind::kAdd:
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward:
    case OpKind::kClassToken:
    case OpKind::kClassTokenBackward: return elements;
    default: return 0;  // first tokens are copied
  }
}

Bytes layer_traffic(OpKind kind, const OpShape& s, DType dtype) {
  const std::int64_t e = size_of(dtype), state = dtype == DType::kFp64 ? 8 : 4;
  const std::int64_t elements = s.rows * s.inputs;
  const std::int64_t statistics = 2 * s.rows * state, head_statistics = s.rows * (s.heads + s.kv_heads) * state;
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight: return Bytes(e * (elements + s.inputs * s.outputs + s.rows * s.outputs));
    case OpKind::kNorm: return Bytes(2 * e * elements + statistics);
    case OpKind::kNormBackward: return Bytes(4 * e * elements + statistics);
    case OpKind::kActivation: return Bytes(e * s.rows * (activation_in(s) + s.outputs));
    case OpKind::kActivationBackward: return Bytes(e * s.rows * (2 * activation_in(s) + s.outputs));
    case OpKind::kHeadNorm: return Bytes(2 * e * s.rows * qkv_width(s) + head_statistics);
    case OpKind::kHeadNormBackward: return Bytes(3 * e * s.rows * query_key_width(s) + head_statistics);
    case OpKind::kRope:
    case OpKind::kRopeBackward: return Bytes(2 * e * s.rows * rotated_width(s));
    case OpKind::kCrossEntropy: return Bytes(2 * e * s.rows * s.outputs);
    case OpKind::kLoss: return Bytes(e * s.rows * s.outputs);
    case OpKind::kDequantize: return bytes_in(static_cast<BaseStorage>(s.variant), elements, dtype) + Bytes(e * elements);
    case OpKind::kAdd: return Bytes(3 * e * elements);
    case OpKind::kEmbedding:
    case OpKind::kFirstToken: return Bytes(2 * e * elements);
    case OpKind::kEmbeddingBackward: return Bytes(e * (2 * elements + s.inputs * (s.outputs + s.positions)));
    case OpKind::kClassToken:
    case OpKind::kClassTokenBackward: return Bytes(e * (2 * elements + s.inputs * s.positions));
    case OpKind::kFirstTokenBackward: return Bytes(e * elements * (1 + s.sequence));
    default: return Bytes(0);
  }
}

double gradient_flops(OpKind kind, const OpShape& s) {
  if (kind == OpKind::kClipFactor) return real(s.terms);
  return kind == OpKind::kSquaredNorm ? 2.0 * real(s.rows) : real(s.rows);
}

Bytes gradient_traffic(OpKind kind, const OpShape& s, DType dtype) {
  const std::int64_t e = size_of(dtype), state = dtype == DType::kFp64 ? 8 : 4;
  if (kind == OpKind::kClipFactor) return Bytes(8 * (s.terms + 2));
  return Bytes(s.rows * (kind == OpKind::kSquaredNorm ? e : e + 2 * state));
}

}  // namespace

double flops_of(OpKind kind, const OpShape& s) {
  switch (family_of(kind)) {
    case OpFamily::kLayer: return layer_flops(kind, s);
    case OpFamily::kAttention: return attention_flops(kind, s);
    case OpFamily::kExperts: return expert_flops(kind, s);
    case OpFamily::kGradient: return gradient_flops(kind, s);
    case OpFamily::kUpdate: return update_flops(kind, s);
    case OpFamily::kExchange: return 0;
  }
  return 0;
}

Bytes traffic_of(OpKind kind, const OpShape& s, DType dtype) {
  switch (family_of(kind)) {
    case OpFamily::kLayer: return layer_traffic(kind, s, dtype);
    case OpFamily::kAttention: return attention_traffic(kind, s, dtype);
    case OpFamily::kExperts: return expert_traffic(kind, s, dtype);
    case OpFamily::kGradient: return gradient_traffic(kind, s, dtype);
    case OpFamily::kUpdate: return update_traffic(kind, s, dtype);
    case OpFamily::kExchange: return Bytes(0);  // its cost is a transfer's
  }
  return Bytes(0);
}

Bytes workspace_of(OpKind kind, const OpShape& s, DType dtype, std::int64_t workers) {
  if (is_attention(kind)) return attention_workspace(kind, s, dtype, workers);
  const std::int64_t e = dtype == DType::kFp64 ? 8 : 4;
  const std::int64_t tiles = (s.rows + kReductionRows - 1) / kReductionRows;
  switch (kind) {
    case OpKind::kNormBackward: return Bytes(tiles * (is_layer_norm(s) ? 2 : 1) * s.inputs * e);
    case OpKind::kHeadNormBackward: return Bytes(tiles * 2 * s.head_dim * e);
    case OpKind::kMuon: return Bytes((3 * 2 * s.rows * s.inputs / s.terms + 7) / 8 * 8);
    case OpKind::kRouterBackward: return Bytes(s.rows * router_outputs(s) * e);
    case OpKind::kSm3: return Bytes(s.rows > 1 ? s.rows * e : 0);  // the rows' new sums, while columns need the old ones
    default: return Bytes(0);
  }
}

}  // namespace plimsoll
