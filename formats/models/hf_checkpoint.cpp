#include "formats/models/hf_checkpoint.h"

#include <fmt/format.h>

#include <set>

#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Bytes kMaxIndex = 64 * kMiB;

tl::unexpected<Error> bad(const fs::path& path, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path.string(), .remedy = std::move(remedy)});
}

bool is_file(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is no file
  return fs::is_regular_file(path, ignored);
}

std::vector<fs::path> safetensors_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem;  // an unreadable folder holds nothing for us
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end; it.increment(problem)) {
    if (it->path().extension() == ".safetensors") files.push_back(it->path());
  }
  return files;
}

/// A shard lies beside its index; a path could lead anywhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

/// The index's "weight_map": tensor to file name.
Result<std::map<std::string, std::string>> read_weight_map(const fs::path& path) {
  const auto text = read_text_file(path, kMaxIndex);
  if (!text) return fail(text.error());
  const auto parsed = parse_json(*text, path.string());
  if (!parsed) return fail(parsed.error());
  const bool has_map = parsed->is_object() && parsed->contains("weight_map") && (*parsed)["weight_map"].is_object();
  if (!has_map) return bad(path, "expected an object 'weight_map' that names each tensor's file");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : (*parsed)["weight_map"].items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>())) {
      return bad(path, fmt::format("tensor '{}': expected the name of a file beside the index, found {}", tensor, file.dump()));
    }
    files[tensor] = file.get<std::string>();
  }
  if (files.empty()) return bad(path, "the index lists no tensors");
  return files;
}

}  // namespace

fs::path weights_in(const fs::path& folder) {
  for (const std::string_view name : {kWeightsName, kShardIndexName}) {
    if (is_file(folder / name)) return folder / name;
  }
  const std::vector<fs::path> files = safetensors_in(folder);
  return files.size() == 1 ? files.front() : fs::path();
}

Result<void> HfCheckpoint::add_file(const fs::path& path) {
  auto file = SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  for (const SafetensorsTensor& tensor : file->header().tensors) {
    const auto [known, is_new] = file_of_.emplace(tensor.name, files_.size());
    if (!is_new) {
      return bad(path, fmt::format("tensor '{}' lies in {} as well", tensor.name, files_[known->second].path().string()));
    }
    header_.tensors.push_back(tensor);
  }
  header_.metadata.insert(file->header().metadata.begin(), file->header().metadata.end());
  header_.file_bytes += file->header().file_bytes;
  files_.push_back(std::move(*file));
  return {};
}

Result<void> HfCheckpoint::add_shards() {
  const auto files = read_weight_map(path_);
  if (!files) return fail(files.error());
  std::set<std::string> names;
  for (const auto& [tensor, name] : *files) {
    if (!names.insert(name).second) continue;
    if (!is_file(path_.parent_path() / name)) {
      return bad(path_, fmt::format("the shard {}, which holds '{}', is missing", name, tensor),
                 "download the whole folder again");
    }
    if (const auto added = add_file(path_.parent_path() / name); !added) return added;
  }
  for (const auto& [tensor, name] : *files) {
    const auto found = file_of_.find(tensor);
    if (found == file_of_.end()) return bad(path_, fmt::format("tensor '{}' is not in {}, where the index has it", tensor, name));
    if (files_[found->second].path().filename() == name) continue;
    return bad(path_, fmt::format("tensor '{}' lies in {}, not in {} as the index says", tensor,
                                  files_[found->second].path().filename().string(), name));
  }
  return {};
}

Result<HfCheckpoint> HfCheckpoint::open(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is opened as a file, which says why it cannot
  HfCheckpoint checkpoint(fs::is_directory(path, ignored) ? weights_in(path) : path);
  if (checkpoint.path_.empty()) {
    const bool pickled = is_file(path / "pytorch_model.bin") || is_file(path / "pytorch_model.bin.index.json");
    return bad(path, fmt::format("the folder has no {} and no {}", kWeightsName, kShardIndexName),
               pickled ? "its .bin weights are pickled Python; save_pretrained(…, safe_serialization=True) converts them" : "");
  }
  const bool is_index = checkpoint.path_.extension() == ".json";
  const auto added = is_index ? checkpoint.add_shards() : checkpoint.add_file(checkpoint.path_);
  if (!added) return fail(added.error());
  return checkpoint;
}

Result<std::vector<CheckpointTensor>> HfCheckpoint::match(const std::vector<HfTensor>& wanted) const {
  auto stored = match_hf_tensors(wanted, header_, path_.string());
  if (!stored) return fail(stored.error());
  std::vector<CheckpointTensor> places;
  for (SafetensorsTensor& tensor : *stored) {
    const std::size_t file = file_of_.find(tensor.name)->second;
    places.push_back({.file = file, .tensor = std::move(tensor)});
  }
  return places;
}

std::optional<CheckpointTensor> HfCheckpoint::find(std::string_view name) const {
  const auto file = file_of_.find(name);
  if (file == file_of_.end()) return {};
  return CheckpointTensor{.file = file->second, .tensor = *header_.find(name)};
}

}  // namespace plimsoll
