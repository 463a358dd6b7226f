#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/graph/batch_parts.h"

namespace plimsoll {

/// One micro-batch of a training or an evaluation. With the data it decides all that the batch holds, so that a resumed run
/// sees what an uninterrupted one would have seen.
struct BatchPlace {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t micro_batch = 0;
  std::int64_t micro_batches = 1;  ///< of one step
};

class TokenSource;

/// Where batches come from.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  /// What it lacks for batches of that model and recipe; asked before the first step.
  [[nodiscard]] virtual Result<void> check(const ModelSpec& spec, const Recipe& recipe) const = 0;
  /// Writes the parts of one micro-batch, those that batch_parts lists. Throws EnvironmentError when the data cannot be
  /// read, or changed since it was opened.
  virtual void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const = 0;
  /// The corpus whose batches it hands out as they are, if some tokens there do not count as targets; else null.
  [[nodiscard]] virtual const TokenSource* masked_tokens() const { return nullptr; }
};

/// A part as numbers.
template <typename T>
std::span<T> part_as(std::span<std::byte> part) {
  return {reinterpret_cast<T*>(part.data()), part.size() / sizeof(T)};
}

}  // namespace plimsoll
