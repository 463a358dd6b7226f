#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// Compares [rows, outputs] logits with the batch's labels, or with the next tokens where it has none. kCrossEntropy leaves
/// the logits' gradient behind; kLoss does not, and counts right answers where there are labels.
void write_loss(LayerWriter& write, OpKind kind, TensorId logits, std::int64_t outputs);

}  // namespace plimsoll
