#pragma once

#include <cstdint>
#include <functional>

#include "core/model/model_spec.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {

struct RankHeads;

/// How Megatron-LM's ranks cut a model, and what else decides its tensors.
struct MegatronCut {
  std::int64_t tensor_ranks = 1;
  bool sequence_parallel = false;  ///< norms and dropouts on a part of the sequence
  std::int64_t batch = 1;
  std::int64_t sequence = 1;       ///< of this rank (a part where context is shared out)
  double dropout = 0;
  bool fused_attention = true;
  bool copies_attention = false;   ///< FlashAttention reads and writes batch first: copies on the way in, and its result into order
  bool recomputes_attention = false;
  bool fused_rotation = true;      ///< Transformer Engine's kernel rotates; else products and sums one after another
  bool overlaps = true;            ///< backward passes send beside their products, as Megatron-LM does since 2022
  bool own_gradients = false;  ///< products make gradients of weights as tensors, and add into no buffer: DeepSpeed's
  DType type = DType::kBf16;

  /// Rows of the residual stream that this rank holds.
  [[nodiscard]] std::int64_t stream_rows() const { return batch * sequence / (sequence_parallel ? tensor_ranks : 1); }
  [[nodiscard]] std::int64_t rows() const { return batch * sequence; }
};

// Megatron-LM's layers with Transformer Engine, as they behave on CUDA (Korthikanti et al. 2022 for what each saves). Weights'
// gradients are added into buffers that the data-parallel wrapper holds; a product makes no tensor for them.

/// Outputs are cut: reads all rows (gathered where the stream is cut by rows, once more in backward), saves what it was given.
Tensor column_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut);
/// Inputs are cut: sums of all ranks, every rank keeping its rows where the stream is cut by rows.
Tensor row_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut);
/// The same of layers whose products are in 8 bits (Transformer Engine): the 8-bit input is saved, by rows where it is gathered once
/// more, transposed otherwise; weights' copies stay over the micro-batches of a step; what ranks gather goes in 8 bits.
Tensor fp8_column_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut);
Tensor fp8_row_parallel(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut);
/// Saves what it reads: one tensor where all lies side by side. FlashAttention saves copies batch first instead, and what is written out copies
/// of keys and values for every query head.
Tensor core_attention(Tape& tape, const RankHeads& heads, const ModelSpec& spec, const MegatronCut& cut);
/// residual + dropout(x + bias), one kernel.
Tensor bias_dropout_add(Tape& tape, const Tensor& x, Parameter* bias, const Tensor& residual, double share);
/// GELU, or activation(gate) · up of halves that lie side by side; saves what it reads.
Tensor fused_activation(Tape& tape, const Tensor& x, std::int64_t width);
/// Loss of logits whose vocabulary is cut: exponentials in fp32 are saved and become the gradient in place.
Tensor parallel_cross_entropy(Tape& tape, const Tensor& logits);

}  // namespace plimsoll
