#include "executor/cuda/launch/supports.h"

#include <fmt/format.h>

#include "core/graph/attention_kind.h"
#include "executor/cuda/kernels/attention_tiles.h"
#include "executor/cuda/kernels/column_sums.h"
#include "executor/cuda/kernels/squared_norm.h"
#include "executor/cuda/kernels/update.h"

namespace plimsoll::cuda {
namespace {

tl::unexpected<Error> missing(const std::string& what) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("the CUDA backend has no {}", what),
               .where = {},
               .remedy = "run with --backend cpu, or ask fit what it would take"});
}

bool has_program(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
    case OpKind::kNorm:
    case OpKind::kLinear:
    case OpKind::kHeadNorm:
    case OpKind::kRope:
    case OpKind::kAttention:
    case OpKind::kAdd:
    case OpKind::kActivation:
    case OpKind::kCrossEntropy:
    case OpKind::kLoss:
    case OpKind::kEmbeddingBackward:
    case OpKind::kNormBackward:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
    case OpKind::kRopeBackward:
    case OpKind::kHeadNormBackward:
    case OpKind::kAttentionBackward:
    case OpKind::kActivationBackward:
    case OpKind::kAccumulate:
    case OpKind::kSquaredNorm:
    case OpKind::kClipFactor:
    case OpKind::kSgd:
    case OpKind::kMomentum:
    case OpKind::kAdam:
    case OpKind::kLion:
    case OpKind::kAdamW:
    case OpKind::kMuon: return true;
    default: return false;
  }
}

/// AttentionSizes knows which keys are seen, and no slopes; an unknown number is no kind.
bool has_attention(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kCausal:
    case AttentionKind::kFull:
    case AttentionKind::kPadded:
      return true;
    case AttentionKind::kCausalAlibi:
      return false;
  }
  return false;
}

}  // namespace

Result<void> check_kernel(const Kernel& kernel) {
  const bool known = kernel.dtype == DType::kFp32 || kernel.dtype == DType::kTf32 || kernel.dtype == DType::kBf16 ||
                     kernel.dtype == DType::kFp16;
  if (!known || !has_program(kernel.kind)) {
    return missing(fmt::format("kernel '{}' in {}", to_text(kernel.kind), to_text(kernel.dtype)));
  }
  const auto attention = static_cast<AttentionKind>(kernel.shape.variant);
  if (is_attention(kernel.kind) && !has_attention(attention)) {
    return missing(fmt::format("attention of the kind '{}'", to_text(attention)));
  }
  if (is_attention(kernel.kind) && kernel.shape.head_dim > AttentionTile::kMostDim) {
    return missing(fmt::format("attention with heads of {} elements ({} at most)", kernel.shape.head_dim,
                               AttentionTile::kMostDim));
  }
  const bool embeds = kernel.kind == OpKind::kEmbedding || kernel.kind == OpKind::kEmbeddingBackward;
  if (embeds && kernel.shape.stride > 0) return missing("embedding of positions that do not begin at the first");
  return {};
}

Bytes scratch_of(const Kernel& kernel) {
  constexpr std::int64_t kDouble = sizeof(double);
  if (kernel.kind == OpKind::kCrossEntropy) return Bytes((1 + kernel.shape.rows) * kDouble);
  if (kernel.kind == OpKind::kLoss) return Bytes((1 + 2 * kernel.shape.rows) * kDouble);
  if (kernel.kind == OpKind::kLinearBackwardWeight) {
    const OpShape& s = kernel.shape;
    return Bytes(parts_of(s.rows, rows_of_tile(s.rows, s.outputs)) * s.outputs * std::int64_t{sizeof(float)});
  }
  if (kernel.kind == OpKind::kMuon) return Bytes((kMostSquareBlocks + 1) * kDouble);
  if (kernel.kind == OpKind::kSquaredNorm) return Bytes(kMostSquareBlocks * kDouble);
  if (is_update(kernel.kind)) return Bytes(sizeof(UpdateCorrections));
  return Bytes(0);
}

}  // namespace plimsoll::cuda
