#pragma once

#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {

/// Elements of a kernel's workspace, for as many workers as cases have, of whichever type.
std::int64_t scratch(OpKind kind, const OpShape& shape);

/// Two sequences of 133 tokens: three query tiles, the last of five rows.
OpShape attention_shape(std::int64_t heads, std::int64_t kv_heads);

/// Of an encoder with a decoder: two sequences of 133 queries over their own keys with a bias, and over 71 of another
/// sequence.
std::vector<KernelCase> paired_attentions();

}  // namespace plimsoll::test
