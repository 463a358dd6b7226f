#pragma once

#include <cstdint>

#include "core/graph/op.h"
#include "executor/kernels/kernels.h"

namespace plimsoll::kernels {

/// The keys that queries see, from the first of their sequence on.
struct VisibleKeys {
  VisibleKeys(const OpShape& shape, const std::int32_t* extents_of_sequences)
      : VisibleKeys(shape, extents_of_sequences, shape.sequence) {}
  VisibleKeys(const OpShape& shape, const std::int32_t* extents_of_sequences, std::int64_t keys)
      : sequence(keys),
        causal(shape.variant == static_cast<std::uint8_t>(AttentionKind::kCausal)),
        extents(extents_of_sequences) {}

  /// How many the query of that row sees; at least one.
  [[nodiscard]] std::int64_t of_row(std::int64_t seq, std::int64_t row) const { return causal ? row + 1 : extent(seq); }
  /// How many some query of these rows sees.
  [[nodiscard]] std::int64_t of_rows(std::int64_t seq, Range rows) const { return causal ? rows.end : extent(seq); }

  std::int64_t sequence;  ///< keys of one
  bool causal;
  const std::int32_t* extents;  ///< [sequence][tokens, …]; null: all sequences are whole

 private:
  /// What no batch has written yet (a rehearsal's zeros) stands for a whole sequence.
  [[nodiscard]] std::int64_t extent(std::int64_t seq) const {
    const std::int64_t stated = extents == nullptr ? sequence : extents[2 * seq];
    return stated > 0 && stated < sequence ? stated : sequence;
  }
};

/// Of which attention VisibleKeys says all that there is to say; an unknown number is none of them.
constexpr bool is_computed(AttentionKind kind) {
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

inline bool has_extents(const OpShape& shape) { return shape.variant == static_cast<std::uint8_t>(AttentionKind::kPadded); }

}  // namespace plimsoll::kernels
