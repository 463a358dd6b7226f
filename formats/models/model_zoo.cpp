#include "formats/models/model_zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/base/nearest_names.h"
#include "core/model/parameters.h"
#include "formats/models/embedded_models.h"
#include "formats/text/parse_json.h"
#include "formats/models/shape_words.h"
#include "formats/models/unread_families.h"

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr std::string_view kZooFile = "data/models/zoo.json";
constexpr int kFormatVersion = 1;

tl::unexpected<Error> bad(std::string_view where, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::string(where), .remedy = {}});
}

/// Case, spaces, hyphens and underscores do not tell names apart; a point does (1.3b is not 13b).
std::string zoo_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

Result<std::vector<ModelNote>> read_notes(const json& row, std::string_view where) {
  std::vector<ModelNote> notes;
  const auto found = row.find("notes");
  if (found == row.end()) return notes;
  if (!found->is_array()) return bad(where, "expected 'notes' to be an array");
  for (const json& item : *found) {
    if (!item.is_string()) return bad(where, "expected a note to be a sentence");
    // The zoo notes only what a spec cannot say about the arithmetic.
    notes.push_back({.text = item.get<std::string>(), .changes_numbers = true});
  }
  return notes;
}

Result<std::string> text_field(const json& row, std::string_view key, std::string_view where) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_string()) return bad(where, fmt::format("expected '{}' to be a text", key));
  return found->get<std::string>();
}

Result<std::vector<std::string>> read_aliases(const json& row, std::string_view where) {
  std::vector<std::string> aliases;
  const auto found = row.find("aliases");
  if (found == row.end()) return aliases;
  if (!found->is_array()) return bad(where, "expected 'aliases' to be an array");
  for (const json& item : *found) {
    if (!item.is_string()) return bad(where, "expected an alias to be a text");
    aliases.push_back(item.get<std::string>());
  }
  return aliases;
}

Result<void> read_shape(ZooModel& model, const json& row, std::string_view where) {
  const auto shape = text_field(row, "shape", where);
  if (!shape) return fail(shape.error());
  auto spec = parse_shape_words(*shape);
  if (!spec) return fail(spec.error());
  model.spec = std::move(*spec);
  model.spec.name = model.name;
  const auto stated = row.find("parameters");
  if (stated == row.end() || !stated->is_number_unsigned()) return bad(where, "expected 'parameters' to be a count");
  model.parameters = parameter_count(model.spec);
  if (stated->get<std::uint64_t>() == static_cast<std::uint64_t>(model.parameters)) return {};
  return bad(where, fmt::format("the shape has {} parameters, but {} are stated", model.parameters, stated->dump()));
}

Result<ZooModel> read_row(const json& row, std::string_view file) {
  if (!row.is_object()) return bad(file, "expected a model to be an object");
  ZooModel model;
  const auto name = text_field(row, "name", file);
  if (!name) return fail(name.error());
  model.name = *name;
  const std::string where = fmt::format("{}: {}", file, model.name);
  if (auto done = read_shape(model, row, where); !done) return fail(done.error());
  const auto published = text_field(row, "published", where);
  const auto origin = text_field(row, "origin", where);
  auto aliases = read_aliases(row, where);
  auto notes = read_notes(row, where);
  if (!published) return fail(published.error());
  if (!origin) return fail(origin.error());
  if (!aliases) return fail(aliases.error());
  if (!notes) return fail(notes.error());
  model.published = *published;
  model.origin = *origin;
  model.aliases = std::move(*aliases);
  model.notes = std::move(*notes);
  return model;
}

/// What the name says where that is known; else near names, and where none is near how to go on.
Error unknown_model(std::string_view name, const std::vector<std::string>& names) {
  Error error{.kind = ErrorKind::kUnknownName, .what = fmt::format("there is no model of the name '{}'", name), .where = {}, .remedy = {}};
  const auto near = near_names(name, names);
  error.remedy = unread_by_name(name);
  if (!error.remedy.empty()) return error;
  if (!near.empty()) error.remedy = did_you_mean(name, near);
  else error.remedy = "plimsoll models lists those that are known; name a folder with its config.json, or its shape in words: gpt:layers=24,hidden=…";
  return error;
}

}  // namespace

Result<std::vector<ZooModel>> parse_model_zoo(std::string_view text, std::string_view where) {
  const auto parsed = parse_json(text, where);
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object() || !parsed->contains("format_version")) return bad(where, "the key 'format_version' is missing");
  if (const json& version = (*parsed)["format_version"]; version != kFormatVersion) {
    return bad(where, fmt::format("format_version {} is unknown; this program reads {}", version.dump(), kFormatVersion));
  }
  if (!parsed->contains("models") || !(*parsed)["models"].is_array()) return bad(where, "expected 'models' to be an array");
  std::vector<ZooModel> zoo;
  std::set<std::string> names;
  for (const json& row : (*parsed)["models"]) {
    auto model = read_row(row, where);
    if (!model) return fail(model.error());
    if (!names.insert(zoo_key(model->name)).second) return bad(where, fmt::format("'{}' is listed twice", model->name));
    for (const std::string& alias : model->aliases) {
      if (!names.insert(zoo_key(alias)).second) return bad(where, fmt::format("'{}' is listed twice", alias));
    }
    zoo.push_back(std::move(*model));
  }
  return zoo;
}

const std::vector<ZooModel>& built_in_zoo() {
  static const std::vector<ZooModel> zoo = parse_model_zoo(embedded_models(kZooFile), kZooFile).value();
  return zoo;
}

Result<ZooModel> find_in_zoo(std::string_view name) {
  std::vector<std::string> names;
  const std::string key = zoo_key(name);
  for (const ZooModel& model : built_in_zoo()) {
    const bool alias = std::any_of(model.aliases.begin(), model.aliases.end(), [&](const auto& a) { return zoo_key(a) == key; });
    if (zoo_key(model.name) == key || alias) return model;
    names.push_back(model.name);
  }
  return fail(unknown_model(name.substr(0, 80), names));
}

}  // namespace plimsoll
