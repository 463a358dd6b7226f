#include "formats/models/peft_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/models/peft_tensors.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr Bytes kMaxConfig = 4 * kMiB;

tl::unexpected<Error> bad(const std::string& where, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

bool says_nothing(const json& value) {
  return value.is_null() || value == json(false) || value == json("none") ||
         ((value.is_object() || value.is_array()) && value.empty());
}

/// What changes the function that an adapter computes and is not built here.
Result<void> check_kind(const json& config, const std::string& where) {
  const json type = config.value("peft_type", json(""));
  if (type != "LORA") {
    return bad(where, fmt::format("an adapter of type '{}'; only LORA is known", type.is_string() ? type.get<std::string>() : type.dump()));
  }
  for (const char* key : {"use_dora", "bias", "rank_pattern", "alpha_pattern", "modules_to_save", "layers_to_transform",
                          "layer_replication", "target_parameters", "trainable_token_indices", "lora_bias", "use_qalora",
                          "alora_invocation_tokens", "use_bdlora", "kasa_config", "velora_config"}) {
    if (!config.contains(key) || says_nothing(config[key])) continue;
    return bad(where, fmt::format("the adapter has {} = {}, which is not supported", key, config[key].dump()),
               "plain LoRA of one rank with frozen biases can be loaded");
  }
  return {};
}

/// Those whose A is there in the first block; whether all others are, too, is seen when tensors are matched.
std::vector<AdapterTarget> targets_in(const SafetensorsHeader& header, const ModelSpec& spec, std::int64_t rank) {
  std::vector<AdapterTarget> targets;
  for (const AdapterTarget target : adapter_targets(spec)) {
    const AdapterSpec alone{.rank = rank, .alpha = 1, .targets = {target}};
    if (header.find(peft_tensors(spec, alone).front().name) != nullptr) targets.push_back(target);
  }
  return targets;
}

Result<AdapterSpec> adapter_of(const json& config, const std::string& where) {
  for (const char* key : {"r", "lora_alpha"}) {
    if (config.contains(key) && config[key].is_number()) continue;
    return bad(where, fmt::format("'{}' is missing or no number", key));
  }
  if (!config["r"].is_number_integer()) return bad(where, fmt::format("'r' is {}, which is no whole number", config["r"].dump()));
  const json by_root = config.value("use_rslora", json(false));
  if (!by_root.is_boolean()) return bad(where, fmt::format("'use_rslora' is {}, neither true nor false", by_root.dump()));
  AdapterSpec adapter{.rank = config["r"].get<std::int64_t>(), .alpha = config["lora_alpha"].get<double>()};
  if (adapter.rank <= 0) return bad(where, fmt::format("a rank of {}", adapter.rank));
  // rsLoRA (Kalajdzievski 2023) divides by √rank instead of rank.
  if (by_root.get<bool>()) adapter.alpha *= std::sqrt(static_cast<double>(adapter.rank));
  return adapter;
}

}  // namespace

Result<PeftConfig> read_peft_config(const std::filesystem::path& folder, const ModelSpec& spec, const SafetensorsHeader& header) {
  const std::filesystem::path path = folder / kAdapterConfigName;
  const auto text = read_text_file(path, kMaxConfig);
  if (!text) return fail(text.error());
  auto config = parse_json(*text, path.string());
  if (!config) return fail(config.error());
  if (!config->is_object()) return bad(path.string(), "this is no adapter's configuration");
  for (auto item = config->begin(); item != config->end();)
    item = item->is_null() ? config->erase(item) : std::next(item);
  if (const auto known = check_kind(*config, path.string()); !known) return fail(known.error());
  auto adapter = adapter_of(*config, path.string());
  if (!adapter) return fail(adapter.error());
  adapter->targets = targets_in(header, spec, adapter->rank);
  if (adapter->targets.empty()) {
    const std::string first = header.tensors.empty() ? std::string("nothing") : header.tensors.front().name;
    return bad(folder.string(),
               fmt::format("the adapter is for another model: it holds {}, and {} would have {}", first, spec.name,
                           peft_tensors(spec, {.rank = 1, .targets = adapter_targets(spec)}).front().name),
               "name the model that it was trained beside");
  }
  const json base = config->value("base_model_name_or_path", json());
  return PeftConfig{std::move(*adapter), base.is_string() ? base.get<std::string>() : std::string()};
}

std::string write_peft_config(const PeftConfig& config, const ModelSpec& spec) {
  std::vector<std::string> modules;
  for (const AdapterTarget target : config.adapter.targets) modules.push_back(peft_module(target, spec));
  const double alpha = config.adapter.alpha;
  const bool whole = alpha == std::floor(alpha);
  ordered_json text{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", config.base.empty() ? ordered_json() : ordered_json(config.base)},
                    {"r", config.adapter.rank},
                    {"lora_alpha", whole ? ordered_json(static_cast<std::int64_t>(alpha)) : ordered_json(alpha)},
                    {"lora_dropout", 0.0},
                    {"target_modules", modules},
                    {"bias", "none"},
                    {"fan_in_fan_out", spec.family == Family::kGpt2},
                    {"inference_mode", true},
                    {"init_lora_weights", true},
                    {"use_rslora", false},
                    {"use_dora", false},
                    {"modules_to_save", nullptr}};
  return text.dump(2) + "\n";
}

}  // namespace plimsoll
