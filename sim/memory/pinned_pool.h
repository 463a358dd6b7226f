#pragma once

#include <cstdint>
#include <map>

#include "core/base/quantity.h"

namespace plimsoll {

/// Host memory that PyTorch has locked for copies (at::CachingHostAllocator): a request takes a block of the next power
/// of two, and a block that is given back stays locked for the next request of its size.
class PinnedPool {
 public:
  /// Bytes of the block that a request gets.
  static Bytes block_of(Bytes wanted);

  void take(Bytes wanted);
  /// Gives back what an earlier request of so many bytes took.
  void give_back(Bytes wanted);

  /// Bytes that are locked, in use or not.
  [[nodiscard]] Bytes locked() const { return locked_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;  ///< blocks by size
  Bytes locked_;
};

}  // namespace plimsoll
