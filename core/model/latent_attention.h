#pragma once

#include <cstdint>

namespace plimsoll {

/// Queries, keys and values that come from narrow vectors of each token (DeepSeek-AI 2024, DeepSeek-V2, section 2.1); nothing
/// when `kv_rank` is 0. A head's queries and keys have a part that is not rotated and one that is; all heads share the
/// rotated part of the keys.
struct LatentAttention {
  std::int64_t q_rank = 0;      ///< width of the vector behind the queries; 0: they come from the stream itself
  std::int64_t kv_rank = 0;     ///< width of the vector behind keys and values
  std::int64_t plain_dim = 0;   ///< of a head, not rotated
  std::int64_t rope_dim = 0;    ///< of a head, rotated
  std::int64_t value_dim = 0;   ///< of a head's values

  [[nodiscard]] bool exists() const { return kv_rank > 0; }
  /// Of a head's queries and keys.
  [[nodiscard]] std::int64_t key_dim() const { return plain_dim + rope_dim; }
  bool operator==(const LatentAttention&) const = default;
};

}  // namespace plimsoll
