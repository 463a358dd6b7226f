#include "formats/models/resolve_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_tensors.h"
#include "formats/models/hub_name.h"
#include "formats/models/model_zoo.h"
#include "formats/models/shape_words.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> bad(const fs::path& path, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path.string(), .remedy = std::move(remedy)});
}

bool is_file(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is no file
  return fs::is_regular_file(path, ignored);
}

/// The sizes of the tensors and a note for what shapes do not tell.
Result<ModelDescription> describe_tensors(const HfCheckpoint& checkpoint) {
  auto spec = infer_model_spec(checkpoint.header(), checkpoint.path().string());
  if (!spec) return fail(spec.error());
  ModelDescription found{.spec = std::move(*spec), .notes = {}, .weights = checkpoint.path()};
  found.notes.push_back(
      {.text = "sizes were read off the tensors; epsilon, activation and rotary settings are the family's usual",
       .changes_numbers = true});
  return found;
}

/// Values are read exactly, whatever their type; that it is not the stated one is worth a word.
void note_type(ModelDescription& found, const std::vector<CheckpointTensor>& tensors) {
  const std::pair<std::string_view, StoredType> types[] = {
      {"float32", StoredType::kF32}, {"float16", StoredType::kF16}, {"bfloat16", StoredType::kBf16}};
  for (const auto& [name, type] : types) {
    if (name != found.stated_type) continue;
    const auto other = std::ranges::find_if(tensors, [wanted = type](const auto& place) { return place.tensor.type != wanted; });
    if (other == tensors.end()) return;
    found.notes.push_back({.text = fmt::format("config.json says {}, but '{}' is stored as {}; it is read as it is", name,
                                               other->tensor.name, to_text(other->tensor.type)),
                           .changes_numbers = false});
  }
}

/// A file of weights, or an index of several, whose config.json may lie beside it.
Result<ModelDescription> describe_weights(const fs::path& path) {
  const auto checkpoint = HfCheckpoint::open(path);
  if (!checkpoint) return fail(checkpoint.error());
  const fs::path config = path.parent_path() / kConfigName;
  if (!is_file(config)) return describe_tensors(*checkpoint);
  auto found = read_hf_config(config);
  if (!found) return found;
  if (const auto known = check_hf_names(found->spec); !known) {
    found->notes.push_back({.text = known.error().what + "; the file was not looked into", .changes_numbers = false});
    return found;
  }
  const auto matched = checkpoint->match(hf_tensors(found->spec));
  if (!matched) return fail(matched.error());
  found->weights = path;
  note_type(*found, *matched);
  return found;
}

/// A folder whose config.json says what the model is can be planned for without its weights, also when some are missing.
Result<ModelDescription> describe_folder(const fs::path& folder) {
  const fs::path weights = weights_in(folder);
  const bool has_config = is_file(folder / kConfigName);
  if (!has_config && is_file(folder / "adapter_config.json")) {
    return bad(folder, "the folder holds adapters alone, without the model that they go beside",
               "name that model, or join them first: plimsoll merge MODEL ADAPTERS -o MERGED");
  }
  if (weights.empty() && !has_config) return bad(folder, "the folder has neither a config.json nor a safetensors file");
  if (weights.empty()) return read_hf_config(folder / kConfigName);
  const auto opened = HfCheckpoint::open(weights);
  if (opened || !has_config) return describe_weights(weights);
  auto found = read_hf_config(folder / kConfigName);
  if (found) found->notes.push_back({.text = "the weights cannot be read: " + opened.error().text(), .changes_numbers = false});
  return found;
}

Result<ModelDescription> describe_path(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return describe_folder(path);
  if (path.filename() == kShardIndexName || path.extension() == ".safetensors") return describe_weights(path);
  if (path.extension() == ".json") return read_hf_config(path);
  return bad(path, "this is no model", "expected a config.json, a .safetensors file or a folder with either");
}

bool names_a_path(std::string_view text) {
  const fs::path path(text);
  const bool typed = path.extension() == ".json" || path.extension() == ".safetensors";
  std::error_code ignored;
  return typed || text == "." || text == ".." || (text.find('/') != std::string_view::npos && fs::exists(path, ignored)) ||
         fs::is_regular_file(path, ignored);
}

}  // namespace

Result<ModelDescription> describe_model(std::string_view text) {
  if (text.empty()) return fail({.kind = ErrorKind::kInput, .what = "no model was named", .where = {},
                                 .remedy = "name one of plimsoll models, a folder or file of one, or a shape in words: gpt:layers=24,hidden=…"});
  if (text.find('\0') != std::string_view::npos) return bad("model", "a name with a NUL byte");
  if (looks_like_shape_words(text)) {
    auto spec = parse_shape_words(text);
    if (!spec) return fail(spec.error());
    return ModelDescription{.spec = std::move(*spec), .notes = {}, .weights = {}};
  }
  if (names_a_path(text)) return describe_path(fs::path(text));
  auto model = find_in_zoo(text);
  if (model) return ModelDescription{.spec = std::move(model->spec), .notes = std::move(model->notes), .weights = {}};
  std::error_code ignored;
  if (fs::exists(fs::path(text), ignored)) return describe_path(fs::path(text));
  auto match = match_hub_name(text);
  if (!match) return fail(model.error());
  ModelDescription found{.spec = std::move(match->model.spec), .notes = std::move(match->model.notes), .weights = {}};
  found.notes.push_back({.text = std::move(match->note), .changes_numbers = false});
  return found;
}

Result<ModelSpec> resolve_model(std::string_view text) {
  auto found = describe_model(text);
  if (!found) return fail(found.error());
  return std::move(found->spec);
}

}  // namespace plimsoll
