#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Head and cross-entropy at once, as TRL's trainers patch them into transformers' models ("fused LM head", TRL 1.16): logits are there a tile of
/// 4096 rows by 32,768 words at a time, in the type that autocast asks for, and are made again going back. Keeps x, three sums and
/// a log-probability a row; gradients are summed in fp32, of x and of a trained head, and cast to their own types when all are there.
Tensor tiled_linear_cross_entropy(Tape& tape, const Tensor& x, Parameter& head);

}  // namespace plimsoll
