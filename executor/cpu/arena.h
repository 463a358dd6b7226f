#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// Bytes of the arena from first (inclusive) to second (exclusive).
using ByteRange = std::pair<Bytes, Bytes>;

/// Host memory reserved once: mapped, every page touched, so that nothing can be missing while a step runs.
class HostArena {
 public:
  /// Maps `bytes` (aligned to a page) and writes zeros over all of it. Throws EnvironmentError when the mapping fails.
  explicit HostArena(Bytes bytes);
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  /// Makes it that long, and moves it if it must. What both lengths hold keeps its contents; what is new is zeros. When
  /// memory is missing it throws as the constructor does and stays as it is.
  void resize(Bytes bytes);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return size_; }

  void fill_zeros();
  /// Writes a pattern that reads as NaN in fp32 and fp64 and whose every 8-byte word no kernel leaves behind by chance.
  void fill_canary();
  /// The same everywhere but in `kept` (sorted by begin).
  void fill_canary_outside(std::span<const ByteRange> kept);

  /// One past the highest byte that differs from the canary; 0 when all of it is whole.
  [[nodiscard]] Bytes touched() const;
  /// The first byte outside `allowed` (sorted by begin, may overlap) that differs from the canary.
  [[nodiscard]] std::optional<Bytes> first_touched_outside(std::span<const ByteRange> allowed) const;

 private:
  std::byte* data_ = nullptr;
  Bytes size_;
};

}  // namespace plimsoll
