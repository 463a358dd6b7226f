#pragma once

#include <cstdint>

#include "core/graph/op.h"

namespace plimsoll::kernels {

/// What each row of logits is compared with.
struct Targets {
  Targets(const OpShape& shape, const std::int32_t* tokens_or_labels)
      : sequence(shape.sequence),
        labels(shape.variant == static_cast<std::uint8_t>(TargetKind::kLabel)),
        values(tokens_or_labels) {}

  /// Negative: the row does not count.
  [[nodiscard]] std::int64_t of(std::int64_t row) const {
    return labels ? values[row] : values[row / sequence * (sequence + 1) + row % sequence + 1];
  }
  /// Rows that count, of so many; at least one.
  [[nodiscard]] std::int64_t count(std::int64_t rows) const {
    if (!labels) return rows;
    std::int64_t counted = 0;
    for (std::int64_t row = 0; row < rows; ++row) counted += values[row] >= 0 ? 1 : 0;
    return counted > 0 ? counted : 1;
  }

  std::int64_t sequence;
  bool labels;
  const std::int32_t* values;
};

}  // namespace plimsoll::kernels
