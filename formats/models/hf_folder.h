#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/models/hf_tensors.h"

namespace plimsoll {

/// One file of a model's weights.
struct HfShard {
  std::string file;  ///< "model.safetensors", or "model-00001-of-00003.safetensors"
  std::vector<HfTensor> tensors;
};

/// Divides tensors, in their order, into files of at most `limit` data; a larger tensor has a file of its own.
std::vector<HfShard> divide_into_shards(std::vector<HfTensor> tensors, StoredType type, Bytes limit);

/// The text of model.safetensors.index.json.
std::string shard_index(const std::vector<HfShard>& shards, StoredType type);

/// Copies what the folder `from` has of a tokenizer and of generation settings into `to`; nothing when `from` is empty.
/// Throws EnvironmentError when the disk refuses.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace plimsoll
