#include "formats/text/json_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/nearest_names.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

using nlohmann::json;

const json kNull;

}  // namespace

bool JsonNode::is_text() const { return value_->is_string(); }
bool JsonNode::is_array() const { return value_->is_array(); }
bool JsonNode::is_object() const { return value_->is_object(); }
bool JsonNode::is_null() const { return value_->is_null(); }
bool JsonNode::has(std::string_view key) const { return value_->is_object() && value_->contains(key); }

void JsonNode::fault(std::string what, std::string remedy, ErrorKind kind) const {
  if (fault_->error) return;
  fault_->error = Error{.kind = kind,
                        .what = std::move(what),
                        .where = fmt::format("{} at {}", fault_->where, path_.empty() ? "/" : path_),
                        .remedy = std::move(remedy)};
}

void JsonNode::expected(std::string_view what) const {
  if (fault_->error) return;
  std::string found = value_->dump(-1, ' ', false, json::error_handler_t::replace);
  if (found.size() > 40) found = std::string("a long ") + value_->type_name();
  fault(fmt::format("expected {}, found {}", what, found));
}

JsonNode JsonNode::at(std::string_view key) const {
  JsonNode child(kNull, fmt::format("{}/{}", path_, key), *fault_);
  if (!value_->is_object()) {
    expected("an object");
  } else if (const auto found = value_->find(key); found != value_->end()) {
    child.value_ = &*found;
  } else {
    fault(fmt::format("the key \"{}\" is missing", key));
  }
  return child;
}

std::vector<JsonNode> JsonNode::elements() const {
  std::vector<JsonNode> nodes;
  if (!value_->is_array()) expected("an array");
  if (!value_->is_array()) return nodes;
  nodes.reserve(value_->size());
  for (const json& element : *value_) nodes.emplace_back(element, fmt::format("{}/{}", path_, nodes.size()), *fault_);
  return nodes;
}

std::vector<JsonNode> JsonNode::elements_of(std::string_view key) const {
  return has(key) ? at(key).elements() : std::vector<JsonNode>{};
}

std::vector<std::string> JsonNode::keys() const {
  std::vector<std::string> keys;
  if (!value_->is_object()) expected("an object");
  if (!value_->is_object()) return keys;
  for (const auto& member : value_->items()) keys.push_back(member.key());
  return keys;
}

void JsonNode::allow_only(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) return expected("an object");
  for (const auto& [key, value] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    return fault(fmt::format("unknown key {}", json_quote(key)), did_you_mean(key, {keys.begin(), keys.end()}));
  }
}

std::int64_t JsonNode::integer(std::int64_t low, std::int64_t high) const {
  constexpr double kExactlyWhole = 9007199254740992.0;  // 2^53: beyond it a double skips integers
  std::optional<std::int64_t> value;
  if (value_->is_number_unsigned()) {
    const auto wide = value_->get<std::uint64_t>();
    if (wide <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      value = static_cast<std::int64_t>(wide);
  } else if (value_->is_number_integer()) {
    value = value_->get<std::int64_t>();
  } else if (value_->is_number_float()) {
    const double real = value_->get<double>();
    if (std::fabs(real) <= kExactlyWhole && real == std::floor(real)) value = static_cast<std::int64_t>(real);
  }
  if (value && *value >= low && *value <= high) return *value;
  expected(fmt::format("an integer from {} to {}", low, high));
  return low;
}

std::uint64_t JsonNode::natural() const {
  if (value_->is_number_unsigned()) return value_->get<std::uint64_t>();
  return static_cast<std::uint64_t>(integer(0, std::numeric_limits<std::int64_t>::max()));
}

std::uint32_t JsonNode::index() const { return static_cast<std::uint32_t>(integer(0, kMaxInt32)); }

double JsonNode::number(double low) const {
  if (value_->is_number()) {
    const double value = value_->get<double>();
    if (std::isfinite(value) && value >= low) return value;
  }
  expected(low == 0 ? "a number, not negative" : "a finite number");
  return 0;
}

bool JsonNode::boolean() const {
  if (value_->is_boolean()) return value_->get<bool>();
  expected("true or false");
  return false;
}

std::string JsonNode::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  expected("a text");
  return {};
}

Bytes JsonNode::bytes() const {
  if (!value_->is_string()) return Bytes(integer(0, kMaxParsedBytes.count));
  const Result<Bytes> size = parse_bytes(value_->get_ref<const std::string&>());
  if (size) return *size;
  fault(size.error().what, size.error().remedy);
  return Bytes(0);
}

std::size_t JsonNode::one_of(const std::vector<std::string>& names) const {
  const std::string name = text();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  fault(fmt::format("expected one of {}, found {}", fmt::join(names, ", "), json_quote(name)),
        did_you_mean(name, names), ErrorKind::kUnknownName);
  return 0;
}

std::int64_t JsonNode::integer_or(std::string_view key, std::int64_t absent, std::int64_t low,
                                  std::int64_t high) const {
  return has(key) ? at(key).integer(low, high) : absent;
}

double JsonNode::number_or(std::string_view key, double absent, double low) const {
  return has(key) ? at(key).number(low) : absent;
}

bool JsonNode::boolean_or(std::string_view key, bool absent) const { return has(key) ? at(key).boolean() : absent; }

std::string JsonNode::text_or(std::string_view key, std::string absent) const {
  return has(key) ? at(key).text() : std::move(absent);
}

void read_format_version(const JsonNode& node, int known) {
  const JsonNode version = node.at("format_version");
  const std::int64_t found = version.integer(0, kMaxInt32);
  if (found == known) return;
  version.fault(fmt::format("format_version {} is unknown; this program reads version {}", found, known),
                found > known ? "update plimsoll, or write the file with this version" : "");
}

}  // namespace plimsoll
