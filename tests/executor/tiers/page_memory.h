#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "core/plan/plan.h"

namespace plimsoll {

/// Zeros at an address that drives can read and write.
class PageMemory {
 public:
  explicit PageMemory(Bytes bytes)
      : bytes_(bytes), data_(new(kAlignment) std::byte[static_cast<std::size_t>(bytes.count)]()) {}
  ~PageMemory() { ::operator delete[](data_, kAlignment); }
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  [[nodiscard]] std::span<std::byte> all() const { return {data_, static_cast<std::size_t>(bytes_.count)}; }
  [[nodiscard]] std::span<std::byte> part(Bytes offset, Bytes bytes) const {
    return all().subspan(static_cast<std::size_t>(offset.count), static_cast<std::size_t>(bytes.count));
  }

  /// Bytes that tell their place and `seed`.
  void fill(std::uint64_t seed) const {
    std::uint64_t state = seed;
    for (std::byte& byte : all()) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(state >> 56);
    }
  }

 private:
  static constexpr std::align_val_t kAlignment{static_cast<std::size_t>(kStorageAlignment.count)};
  Bytes bytes_;
  std::byte* data_;
};

}  // namespace plimsoll
