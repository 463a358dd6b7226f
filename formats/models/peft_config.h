#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/model/adapter.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

inline constexpr std::string_view kAdapterConfigName = "adapter_config.json";
inline constexpr std::string_view kAdapterWeightsName = "adapter_model.safetensors";

/// What PEFT's adapter_config.json says.
struct PeftConfig {
  AdapterSpec adapter;
  std::string base;  ///< name or folder of the model that it belongs to; may be empty
};

/// Reads the adapter_config.json of `folder` for a model of `spec`. `header` is that of the adapter's tensors, which tell the
/// targets, because the file may name them by a pattern. Another kind of adapter (DoRA, ranks that differ between matrices,
/// trained biases, …) is refused by name, and so is one that is not for `spec`.
Result<PeftConfig> read_peft_config(const std::filesystem::path& folder, const ModelSpec& spec, const SafetensorsHeader& header);

/// The adapter_config.json with which PEFT loads such adapters.
std::string write_peft_config(const PeftConfig& config, const ModelSpec& spec);

}  // namespace plimsoll
