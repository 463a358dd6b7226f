#include "formats/models/hf_rope.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll {
namespace {

using nlohmann::json;

/// transformers cuts to a whole number.
std::int64_t rotated_elements(std::int64_t head_dim, double share) {
  return static_cast<std::int64_t>(static_cast<double>(head_dim) * share);
}

/// The share that gives so many elements; half an element more where the quotient's rounding would lose one.
double share_of(std::int64_t rotary, std::int64_t head_dim) {
  const double share = static_cast<double>(rotary) / static_cast<double>(head_dim);
  return rotated_elements(head_dim, share) == rotary ? share : (static_cast<double>(rotary) + 0.5) / static_cast<double>(head_dim);
}

/// Collects what the top level and the nested objects say; a value given twice must be the same.
class RopeReader {
 public:
  RopeReader(ConfigFields& fields, ModelSpec& spec) : fields_(fields), spec_(spec) {}

  void read_all() {
    if (const json* theta = fields_.find("rope_theta")) take("rope_theta", theta_, *theta, "config.json");
    if (const json* share = fields_.find("partial_rotary_factor")) take("partial_rotary_factor", rotated_, *share, "config.json");
    for (const std::string_view key : {std::string_view("rope_parameters"), std::string_view("rope_scaling")}) {
      const json* value = fields_.find(key);
      if (value == nullptr || value->empty()) continue;
      if (!value->is_object()) return fields_.fault(fmt::format("'{}': expected an object, found {}", key, value->dump()));
      read_object(key, *value);
    }
    spec_.rope_theta = theta_.value_or(10000.0);
  }

  void apply_share(std::optional<double> usual) {
    const double share = rotated_.value_or(usual.value_or(1.0));
    if (!usual && share != 1) {
      return fields_.fault(fmt::format("'partial_rotary_factor' {} asks for partly rotary heads, which '{}' has not", share,
                                       to_text(spec_.family)));
    }
    if (!(share > 0 && share <= 1)) return fields_.fault(fmt::format("'partial_rotary_factor' {} is not above 0 and at most 1", share));
    const std::int64_t rotary = rotated_elements(spec_.head_dim, share);
    spec_.rotary_dim = rotary == spec_.head_dim ? 0 : rotary;
  }

  std::optional<std::string> unsupported;  ///< the object that asks for it

 private:
  void take(std::string_view name, std::optional<double>& field, const json& value, std::string_view where) {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0) {
      return fields_.fault(fmt::format("'{}' in {}: expected a positive number, found {}", name, where, value.dump()));
    }
    const double number = value.get<double>();
    if (field && *field != number) {
      fields_.fault(fmt::format("'{}' is {} in one place and {} in {}: they disagree", name, *field, number, where));
    }
    field = number;
  }

  double required(std::string_view key, const json& object, const char* name) {
    std::optional<double> value;
    if (object.contains(name)) {
      take(name, value, object[name], key);
    } else {
      fields_.fault(fmt::format("'{}' has no '{}'", key, name));
    }
    return value.value_or(1);
  }

  void read_object(std::string_view key, const json& object) {
    for (const auto& [name, value] : object.items()) {
      if (value.is_null()) continue;
      if (name == "rope_theta") take(name, theta_, value, key);
      if (name == "partial_rotary_factor") take(name, rotated_, value, key);
    }
    const std::string kind = kind_of(key, object);
    RopeScaling scaling;
    if (kind == "default") return;
    if (kind == "linear" || kind == "llama3") {
      scaling.kind = kind == "linear" ? RopeScalingKind::kLinear : RopeScalingKind::kLlama3;
      scaling.factor = required(key, object, "factor");
    }
    if (kind == "llama3") {
      scaling.low_frequency = required(key, object, "low_freq_factor");
      scaling.high_frequency = required(key, object, "high_freq_factor");
      scaling.original_positions = required(key, object, "original_max_position_embeddings");
    }
    if (scaling.kind == RopeScalingKind::kNone) {
      unsupported = fmt::format("'{}' asks for rotary scaling of type '{}', which is not applied: {}", key, kind, object.dump());
      return;
    }
    const RopeScaling& known = spec_.rope_scaling;
    if (known.kind != RopeScalingKind::kNone && !(known == scaling)) fields_.fault("'rope_parameters' and 'rope_scaling' disagree");
    spec_.rope_scaling = scaling;
  }

  std::string kind_of(std::string_view key, const json& object) {
    std::string kind;
    for (const char* name : {"rope_type", "type"}) {
      if (!object.contains(name) || object[name].is_null()) continue;
      const std::string word = object[name].is_string() ? object[name].get<std::string>() : object[name].dump();
      if (!kind.empty() && kind != word) fields_.fault(fmt::format("'rope_type' and 'type' in '{}' disagree", key));
      kind = word;
    }
    return kind.empty() ? "default" : kind;
  }

  ConfigFields& fields_;
  ModelSpec& spec_;
  std::optional<double> theta_;
  std::optional<double> rotated_;
};

}  // namespace

std::optional<std::string> read_rope(ConfigFields& fields, ModelSpec& spec, std::optional<double> rotated) {
  RopeReader reader(fields, spec);
  reader.read_all();
  reader.apply_share(rotated);
  return reader.unsupported;
}

void write_rope(nlohmann::ordered_json& config, const ModelSpec& spec) {
  config["rope_theta"] = spec.rope_theta;
  if (spec.rotary_width() != spec.head_dim) config["partial_rotary_factor"] = share_of(spec.rotary_width(), spec.head_dim);
  const RopeScaling& scaling = spec.rope_scaling;
  if (scaling.kind == RopeScalingKind::kNone) return;
  nlohmann::ordered_json object{{"rope_type", to_text(scaling.kind)}, {"factor", scaling.factor}};
  if (scaling.kind == RopeScalingKind::kLlama3) {
    object["low_freq_factor"] = scaling.low_frequency;
    object["high_freq_factor"] = scaling.high_frequency;
    object["original_max_position_embeddings"] = static_cast<std::int64_t>(scaling.original_positions);
  }
  config["rope_scaling"] = object;
}

}  // namespace plimsoll
