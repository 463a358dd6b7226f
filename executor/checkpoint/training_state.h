#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "executor/checkpoint/state_access.h"
#include "executor/data/data_mark.h"
#include "formats/models/safetensors_writer.h"

namespace plimsoll {

/// Under which the file's metadata name the weights of a frozen model.
inline constexpr std::string_view kTrainingBase = "base";

/// How a training state is written.
struct SaveStateOptions {
  std::string base = {};  ///< where the weights of what is frozen are; empty: the seed's
  WritePlace place = WritePlace::kBeside;
  DataMark data = {};  ///< what was trained on; may be missing
};

/// Writes everything that the next step depends on (weights and moments in the state's own type, the number of steps
/// done, the fingerprint of spec and recipe) to one safetensors file with checksums, and waits until it is on the disk; what is
/// frozen is left out. Beside an older file: that is replaced at once or not at all. In place: the file is of no use until it is
/// written, and its checksums say so. Answers with the file's length. A failing disk throws EnvironmentError.
Result<Bytes> save_training_state(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                                  std::int64_t steps_done, const ReadState& state, const SaveStateOptions& options = {});

/// Bytes of such a file, before there is one.
Result<Bytes> training_state_bytes(const ModelSpec& spec, const Recipe& recipe, const SaveStateOptions& options = {});

/// Reads such a file back and returns the number of steps done: training goes on from there, bit for bit. Refused, with
/// what differs, when the file is of another model or recipe; nothing is written to `state` then. A file of which a byte has
/// changed since it was written is refused with the tensor's name; `state` is of no use then.
Result<std::int64_t> load_training_state(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                                         const WriteState& state);

/// The steps that a file of any training holds, after every byte of it was compared with its checksums (files of version 1 have
/// none). Fails with what is damaged.
Result<std::int64_t> check_training_state(const std::filesystem::path& path);

/// The steps that it says it holds; its header is checked, its data is not read.
Result<std::int64_t> steps_in_training_state(const std::filesystem::path& path);

/// Fails, naming both, where the file says that its training had other data. A file that cannot be read is no concern
/// of this: whoever loads it says so.
Result<void> check_data_of_training_state(const std::filesystem::path& path, const DataMark& data);

/// Reads the weights alone out of such a file, for use without training, as fp32, whatever the recipe was. Refused when it is of
/// another model, or holds adapters only.
Result<void> load_trained_weights(const std::filesystem::path& path, const ModelSpec& spec, const WriteState& state);

}  // namespace plimsoll
