#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/model/dtype.h"
#include "sim/stack/tape/column_sums.h"

namespace plimsoll {

/// What a benchmark of an operator runs in each repetition.
enum class OperatorMode : std::uint8_t { kForward, kBackward, kFull };

/// A benchmark of one operator: which of its implementations, on which sizes, on what.
struct OperatorCase {
  std::string kernel;    ///< "layer_norm"
  std::string provider;  ///< whose implementation: "huggingface", "liger" …
  OperatorMode mode = OperatorMode::kFull;
  std::map<std::string, std::int64_t, std::less<>> sizes;  ///< by the benchmark's own letters
  DType dtype = DType::kFp32;
  SumBlocks gpu{.multiprocessors = 108};
  Bytes product_workspace{8519680};  ///< cuBLAS's, a thread
  /// Major · 10000 + minor · 100 + patch of the provider's library; 0: not known, the newest is meant.
  std::int64_t version = 0;

  [[nodiscard]] bool has(std::string_view name) const { return sizes.find(name) != sizes.end(); }
  /// A size that is there (operator_programs.h says which an operator needs).
  [[nodiscard]] std::int64_t operator[](std::string_view name) const { return sizes.find(name)->second; }
  [[nodiscard]] std::int64_t size_or(std::string_view name, std::int64_t otherwise) const;
  /// True when the provider's library is known to be older.
  [[nodiscard]] bool before(std::int64_t other) const { return version != 0 && version < other; }
};

}  // namespace plimsoll
