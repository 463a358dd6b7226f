#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/base_storage.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// Matrices of a block beside which an adapter may stand. Which of them a model has depends on how its family divides them.
enum class AdapterTarget : std::uint8_t { kQkv, kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

/// Low-rank adapters (Hu et al. 2021): everything is frozen, and beside each target W [outputs, inputs] of each block stands
/// B A with A [rank, inputs] and B [outputs, rank], so that the layer computes x Wᵀ + alpha / rank · (x Aᵀ) Bᵀ. A begins
/// uniform in ±1/√inputs, B with zeros.
struct AdapterSpec {
  std::int64_t rank = 0;  ///< 0: there are none, and everything is trained
  double alpha = 0;
  std::vector<AdapterTarget> targets;  ///< each once, in the order of the enumeration
  BaseStorage base = BaseStorage::kCompute;  ///< of the matrices of the frozen model's blocks, with or without an adapter

  bool operator==(const AdapterSpec&) const = default;

  [[nodiscard]] bool exists() const { return rank > 0; }
  [[nodiscard]] bool has(AdapterTarget target) const;
  /// alpha / rank.
  [[nodiscard]] double scale() const { return alpha / static_cast<double>(rank); }
};

/// Whether adapters can stand beside the matrices of a model of `spec`: not where experts share them out.
Result<void> takes_adapters(const ModelSpec& spec);

/// The targets that a model of `spec` has, in order.
std::vector<AdapterTarget> adapter_targets(const ModelSpec& spec);

/// "q,v", "all", or with a checkpoint's names of the matrices ("q_proj"); an error lists what the model has.
Result<std::vector<AdapterTarget>> parse_adapter_targets(std::string_view text, const ModelSpec& spec);

/// Checks rank, alpha and targets against the model.
Result<void> validate(const AdapterSpec& adapter, const ModelSpec& spec);

/// "q", "down", as options and plans write it.
std::string_view to_text(AdapterTarget target);
/// "q,k,v".
std::string to_text(const std::vector<AdapterTarget>& targets);

}  // namespace plimsoll
