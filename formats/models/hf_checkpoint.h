#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/models/hf_tensors.h"
#include "formats/models/safetensors_file.h"

namespace plimsoll {

inline constexpr std::string_view kConfigName = "config.json";
inline constexpr std::string_view kWeightsName = "model.safetensors";
inline constexpr std::string_view kShardIndexName = "model.safetensors.index.json";

/// A tensor of a checkpoint and the file in which it lies.
struct CheckpointTensor {
  std::size_t file = 0;
  SafetensorsTensor tensor;
};

/// A model's weights on disk: one safetensors file, or the shards that an index lists. Only headers are in memory.
class HfCheckpoint {
 public:
  /// Opens a safetensors file, an index, or what weights_in finds in a folder, and checks every header. A shard that is
  /// missing or cannot be read, and a tensor that does not lie where the index says, are errors that name them.
  static Result<HfCheckpoint> open(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<SafetensorsFile>& files() const { return files_; }
  /// All tensors, as if they stood in one file.
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// For each of `wanted` where it lies; as match_hf_tensors.
  [[nodiscard]] Result<std::vector<CheckpointTensor>> match(const std::vector<HfTensor>& wanted) const;
  [[nodiscard]] std::optional<CheckpointTensor> find(std::string_view name) const;

 private:
  explicit HfCheckpoint(std::filesystem::path path) : path_(std::move(path)) {}
  Result<void> add_file(const std::filesystem::path& path);
  Result<void> add_shards();

  std::filesystem::path path_;
  std::vector<SafetensorsFile> files_;
  SafetensorsHeader header_;
  std::map<std::string, std::size_t, std::less<>> file_of_;  ///< by tensor
};

/// The file with which the weights in `folder` begin, as transformers chooses: model.safetensors, else the index, else the
/// only safetensors file there is; empty when there is none.
std::filesystem::path weights_in(const std::filesystem::path& folder);

}  // namespace plimsoll
