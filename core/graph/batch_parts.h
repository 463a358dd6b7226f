#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/recipe.h"

namespace plimsoll {

/// What a micro-batch brings with it. The task that loads a batch writes these, and the graph's first tensors are these.
enum class BatchPartKind : std::uint8_t {
  kTokens,   ///< int32 [sequences, sequence + 1]; the last column is a target only, and of no use to an encoder
  kExtents,  ///< int32 [sequences, 2]: tokens, and where the second segment begins (at the end: there is none)
  kLabels,   ///< int32, of every token or of every sequence; −1: none
  kTargets,  ///< int32 [sequences, target tokens + 1]: what a decoder reads behind an encoder, from its start token on
  kPatches,  ///< of the compute type [sequences, patches, patch width]: normalized pixels
};

struct BatchPart {
  BatchPartKind kind = BatchPartKind::kTokens;
  DType dtype = DType::kInt32;
  std::int64_t elements = 0;

  [[nodiscard]] std::int64_t bytes() const { return elements * size_of(dtype); }
};

/// The parts of one micro-batch of a model, in their order.
std::vector<BatchPart> batch_parts(const ModelSpec& spec, const Recipe& recipe);

std::string_view to_text(BatchPartKind kind);

}  // namespace plimsoll
