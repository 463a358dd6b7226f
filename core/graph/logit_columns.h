#pragma once

#include <cstdint>

#include "core/model/model_spec.h"

namespace plimsoll {

/// Columns of a row of logits: as many as words, or up to 7 more where GPT-2's 50,257 words would leave rows that are no whole 16
/// bytes of two-byte numbers. Matrix units are at their best only with whole ones, in both operands and in the result (NVIDIA,
/// cuBLAS documentation, "Tensor Core Usage"). The further columns are products with what lies behind the words in their group, the
/// first rows of the table of positions: nobody reads them, the loss leaves 0 as their gradient, and so is the weight's there, which
/// the embedding's backward overwrites or is added to. So only a head has them that is tied to such a table and has no bias.
std::int64_t logit_columns(const ModelSpec& spec);

}  // namespace plimsoll
