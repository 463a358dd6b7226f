#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

enum class Family : std::uint8_t { kGpt2, kLlama };
enum class NormKind : std::uint8_t { kLayerNorm, kRmsNorm };
enum class ActivationKind : std::uint8_t { kGelu, kGeluTanh, kSwiGlu };
enum class PositionKind : std::uint8_t { kLearned, kRope };

/// A decoder-only transformer as its user states it.
struct ModelSpec {
  std::string name;  ///< zoo name, folder or the shape in words
  Family family = Family::kGpt2;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< fewer than heads: grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  ///< width of the feed-forward layer
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0;
  NormKind norm = NormKind::kLayerNorm;
  ActivationKind activation = ActivationKind::kGeluTanh;
  PositionKind positions = PositionKind::kLearned;
  bool tied_head = true;     ///< the output head is the token embedding
  bool attention_bias = true;
  bool mlp_bias = true;
  double norm_epsilon = 1e-5;
  double rope_theta = 10000.0;

  bool operator==(const ModelSpec&) const = default;

  /// Width of the fused query, key and value projection.
  [[nodiscard]] std::int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  /// Width of the concatenated attention heads.
  [[nodiscard]] std::int64_t attention_width() const { return heads * head_dim; }
  /// Width of the first feed-forward projection (gate and up side by side for SwiGLU).
  [[nodiscard]] std::int64_t ffn_in_width() const { return activation == ActivationKind::kSwiGlu ? 2 * ffn : ffn; }
};

/// The defaults of a family, before sizes are filled in.
ModelSpec family_defaults(Family family);

/// Checks that every size is positive, divides as it must, and that no tensor passes 2^40 elements.
Result<void> validate(const ModelSpec& spec);

std::string_view to_text(Family family);
std::string_view to_text(NormKind norm);
std::string_view to_text(ActivationKind activation);
std::string_view to_text(PositionKind positions);

/// One line of key=value pairs that names every field; equal specs, equal text.
std::string canonical_text(const ModelSpec& spec);

}  // namespace plimsoll
