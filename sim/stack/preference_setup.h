#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// What a model learns from: texts, what people prefer, or what its own answers are worth.
enum class PreferenceMethod : std::uint8_t {
  kNone,  ///< texts alone
  kDpo,   ///< pairs of a chosen and a rejected answer (Rafailov et al. 2023)
  kKto,   ///< answers of which each is wanted or not (Ethayarajh et al. 2024)
  kGrpo,  ///< groups of its own answers, each with a reward (Shao et al. 2024)
};

/// Where the log-probabilities come from that the model's own are held against.
enum class ReferencePass : std::uint8_t {
  kCopy,         ///< a frozen copy of the whole model
  kAdaptersOff,  ///< the model itself, its adapters switched off
  kPrecomputed,  ///< passed before training began
  kNone,         ///< nothing is held against them: GRPO without a penalty for leaving the reference
};

/// Who writes the answers that GRPO learns from.
enum class Rollout : std::uint8_t {
  kTransformers,  ///< the model itself, by transformers' generate
  kVllm,          ///< vLLM on the same GPU, with a share of its memory ("colocate")
  kElsewhere,     ///< vLLM on other GPUs ("server")
};

/// TRL's default of vllm_gpu_memory_utilization.
inline constexpr double kVllmShare = 0.3;

/// How a model is trained on preferences, as TRL's trainers do it.
struct PreferenceSetup {
  PreferenceMethod method = PreferenceMethod::kNone;
  std::optional<ReferencePass> reference;  ///< nothing: TRL's own choice (reference_of)
  std::int64_t prompt = 0;                 ///< tokens of a sequence before the answer, which need no log-probabilities; 0: all are told as answers
  Rollout rollout = Rollout::kTransformers;
  double vllm_share = kVllmShare;          ///< of the GPU's memory, all that vLLM takes of it

  bool operator==(const PreferenceSetup&) const = default;

  [[nodiscard]] bool exists() const { return method != PreferenceMethod::kNone; }
  /// Whether it learns from what it wrote itself.
  [[nodiscard]] bool writes() const { return method == PreferenceMethod::kGrpo; }
  /// Whether its trainer switches dropout off, in the model and in what adapters read (TRL's disable_dropout; not of GRPO).
  [[nodiscard]] bool drops_nothing() const { return method == PreferenceMethod::kDpo || method == PreferenceMethod::kKto; }
  /// Sequences that a sample of the data set has: both answers of a pair go through the model.
  [[nodiscard]] std::int64_t sequences() const { return method == PreferenceMethod::kDpo ? 2 : 1; }
};

/// As the setup says, else what TRL takes: a model with adapters is its own reference, any other gets a copy; GRPO has none (its beta is 0).
ReferencePass reference_of(const PreferenceSetup& setup, bool has_adapter);

std::string_view to_text(PreferenceMethod method);
std::string_view to_text(ReferencePass reference);
/// "sft" is none.
Result<PreferenceMethod> parse_preference_method(std::string_view text);
Result<ReferencePass> parse_reference_pass(std::string_view text);
/// "transformers", "vllm", "vllm:0.4" or "elsewhere".
Result<void> parse_rollout(std::string_view text, PreferenceSetup& setup);

}  // namespace plimsoll
