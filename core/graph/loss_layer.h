#pragma once

#include <vector>

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// Rows [first, first + rows) of a micro-batch: whole sequences, or a part of one.
struct LossPart {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// The parts in which a language model's rows meet the loss, in their order (loss_tokens); one where it is not cut.
std::vector<LossPart> loss_parts(const ModelSpec& spec, const Recipe& recipe);

/// What a loss reads: rows of logits, of so many outputs in so many columns.
struct LogitRows {
  TensorId logits;
  std::int64_t outputs = 0;
  std::int64_t columns = 0;
};

/// Compares logits with the batch's labels, or with the next tokens where it has none. kCrossEntropy leaves
/// the logits' gradient behind; kLoss does not, and counts right answers where there are labels.
void write_loss(LayerWriter& write, OpKind kind, const LogitRows& of);

/// The same of a part of the rows, for which `write` writes and which has no labels. The first part makes `loss`, the others add
/// to it; OpShape::inputs says of how many rows in all.
void write_loss(LayerWriter& write, OpKind kind, const LogitRows& of, const LossPart& part, TensorId& loss);

}  // namespace plimsoll
