#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "executor/checkpoint/save_weights.h"

namespace plimsoll {

/// Writes the model of `spec` in `base` with W + alpha / rank · B A in place of each W beside which the adapters in `adapter`
/// stand, as save_weights writes a model; one group of weights is in memory at a time.
Result<void> merge_adapter(const std::filesystem::path& base, const ModelSpec& spec, const std::filesystem::path& adapter,
                           const std::filesystem::path& output, const SaveOptions& options);

}  // namespace plimsoll
