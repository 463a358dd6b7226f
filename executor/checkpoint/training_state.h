#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/state_access.h"

namespace plimsoll {

/// Under which the file's metadata name the weights of a frozen model.
inline constexpr std::string_view kTrainingBase = "base";

/// Writes everything that the next step depends on (weights and moments in the state's own type, the number of steps
/// done, the fingerprint of spec and recipe) to one safetensors file; what is frozen is left out,
/// and `base` says where its weights are (empty: the seed's). An older file is replaced at once or not at all.
/// An fp64 run is refused: the file format's writer knows F32. A failing disk throws EnvironmentError.
Result<void> save_training_state(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                                 std::int64_t steps_done, const ReadState& state, const std::string& base = {});

/// Reads such a file back and returns the number of steps done: training goes on from there, bit for bit. Refused, with
/// what differs, when the file is of another model or recipe; nothing is written to `state` then.
Result<std::int64_t> load_training_state(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                                         const WriteState& state);

/// Reads the weights alone out of such a file, for use without training, as fp32, whatever the recipe was. Refused when it is of
/// another model, or holds adapters only.
Result<void> load_trained_weights(const std::filesystem::path& path, const ModelSpec& spec, const WriteState& state);

}  // namespace plimsoll
