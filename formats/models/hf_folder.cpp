#include "formats/models/hf_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/models/hf_checkpoint.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenizerFiles[] = {
    "tokenizer.json",    "tokenizer_config.json", "tokenizer.model",    "special_tokens_map.json", "added_tokens.json",
    "vocab.json",        "merges.txt",            "chat_template.json", "chat_template.jinja",     "generation_config.json",
    "vocab.txt",         "preprocessor_config.json"};

Bytes bytes_of(const HfTensor& tensor, StoredType type) { return Bytes(tensor.elements() * bits_of(type) / 8); }

}  // namespace

std::vector<HfShard> divide_into_shards(std::vector<HfTensor> tensors, StoredType type, Bytes limit) {
  std::vector<HfShard> shards(1);
  Bytes size;
  for (HfTensor& tensor : tensors) {
    const Bytes bytes = bytes_of(tensor, type);
    if (size + bytes > limit && !shards.back().tensors.empty()) {
      shards.emplace_back();
      size = Bytes(0);
    }
    size += bytes;
    shards.back().tensors.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].file = shards.size() == 1 ? std::string(kWeightsName)
                                        : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
  }
  return shards;
}

std::string shard_index(const std::vector<HfShard>& shards, StoredType type) {
  Bytes total;
  nlohmann::json files = nlohmann::json::object();
  for (const HfShard& shard : shards) {
    for (const HfTensor& tensor : shard.tensors) {
      total += bytes_of(tensor, type);
      files[tensor.name] = shard.file;
    }
  }
  return nlohmann::json{{"metadata", {{"total_size", total.count}}}, {"weight_map", files}}.dump(2) + "\n";
}

void copy_tokenizer(const fs::path& from, const fs::path& to) {
  if (from.empty()) return;
  for (const std::string_view name : kTokenizerFiles) {
    std::error_code problem;
    if (!fs::is_regular_file(from / name, problem)) continue;
    fs::copy_file(from / name, to / name, problem);
    if (!problem) continue;
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "the file cannot be copied: " + problem.message(),
                            .where = (from / name).string(),
                            .remedy = {}});
  }
}

}  // namespace plimsoll
