#pragma once

#include "executor/data/batch_source.h"

namespace plimsoll {

/// For programs that load none.
class NoBatches final : public BatchSource {
 public:
  [[nodiscard]] Result<void> check(const ModelSpec&, const Recipe&) const override { return {}; }
  void fill(const BatchPlace&, const Recipe&, std::span<const std::span<std::byte>>) const override {}
};

}  // namespace plimsoll
