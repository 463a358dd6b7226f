#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// What PEFT trains in a frozen model.
enum class AdapterMethod : std::uint8_t {
  kLora,     ///< B A beside a matrix (Hu et al. 2021)
  kDora,     ///< LoRA, and a magnitude of every output (Liu et al. 2024)
  kAdalora,  ///< B diag(E) A, kept orthogonal by a term of the loss (Zhang et al. 2023)
  kVera,     ///< two vectors at random matrices that all layers share (Kopiczko et al. 2023)
  kLoha,     ///< the Hadamard product of two low-rank matrices (Hyeon-Woo et al. 2021)
  kLokr,     ///< a Kronecker product, whose larger factor is low-rank (Yeh et al. 2023)
  kIa3,      ///< a factor of every output, or of every input where the feed-forward layer comes down (Liu et al. 2022)
  kBias,     ///< a bias of its own (BEFT)
  kNorms,    ///< copies of the norms
  kPrompt,   ///< rows before the embedded tokens (Lester et al. 2021)
};

/// Beside rank and targets, which the recipe has: what an adapter is, and which modules are trained as copies.
struct AdapterSetup {
  AdapterMethod method = AdapterMethod::kLora;
  bool copies_embedding = false;    ///< PEFT's modules_to_save: the frozen table stays, and its copy is trained
  bool copies_head = false;         ///< the same of the head, which is then nobody's table but its own
  std::int64_t virtual_tokens = 0;  ///< of kPrompt

  bool operator==(const AdapterSetup&) const = default;

  /// Whether it is more than LoRA beside matrices.
  [[nodiscard]] bool beyond_lora() const { return method != AdapterMethod::kLora || copies_embedding || copies_head; }
};

/// Whether it stands beside matrices with a rank: others have one of 1 in the recipe, which says that the model is frozen.
bool has_rank(AdapterMethod method);
/// Whether it stands beside matrices at all.
bool has_targets(AdapterMethod method);
/// Whether what it reads can be dropped in part.
bool has_dropout(AdapterMethod method);

std::string_view to_text(AdapterMethod method);
Result<AdapterMethod> parse_adapter_method(std::string_view text);

/// "embed", "head" or "embed,head" into the two marks.
Result<void> parse_copies(std::string_view text, AdapterSetup& setup);
std::string copies_text(const AdapterSetup& setup);

}  // namespace plimsoll
