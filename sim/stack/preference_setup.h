#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// What a model learns from: texts, or what people prefer.
enum class PreferenceMethod : std::uint8_t {
  kNone,  ///< texts alone
  kDpo,   ///< pairs of a chosen and a rejected answer (Rafailov et al. 2023)
  kKto,   ///< answers of which each is wanted or not (Ethayarajh et al. 2024)
};

/// Where the log-probabilities come from that the model's own are held against.
enum class ReferencePass : std::uint8_t {
  kCopy,         ///< a frozen copy of the whole model
  kAdaptersOff,  ///< the model itself, its adapters switched off
  kPrecomputed,  ///< passed before training began
};

/// How a model is trained on preferences, as TRL's trainers do it.
struct PreferenceSetup {
  PreferenceMethod method = PreferenceMethod::kNone;
  std::optional<ReferencePass> reference;  ///< nothing: TRL's own choice (reference_of)

  bool operator==(const PreferenceSetup&) const = default;

  [[nodiscard]] bool exists() const { return method != PreferenceMethod::kNone; }
  /// Sequences that a sample of the data set has: both answers of a pair go through the model.
  [[nodiscard]] std::int64_t sequences() const { return method == PreferenceMethod::kDpo ? 2 : 1; }
};

/// As the setup says, else what TRL takes: a model with adapters is its own reference, any other gets a copy.
ReferencePass reference_of(const PreferenceSetup& setup, bool has_adapter);

std::string_view to_text(PreferenceMethod method);
std::string_view to_text(ReferencePass reference);
/// "sft" is none.
Result<PreferenceMethod> parse_preference_method(std::string_view text);
Result<ReferencePass> parse_reference_pass(std::string_view text);

}  // namespace plimsoll
