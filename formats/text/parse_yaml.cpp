#include "formats/text/parse_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace plimsoll {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 100'000;  // bounds what aliases of aliases can grow to

/// Thrown on the way down and caught in parse_yaml: a nested value has no place of its own for an error.
struct YamlFault {
  std::string what;
  int line;
};

[[noreturn]] void fault(const YAML::Node& node, std::string what) { throw YamlFault{std::move(what), node.Mark().line + 1}; }

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) { return std::ranges::find(words, word) != words.end(); }

std::optional<bool> boolean_of(std::string_view word) {
  if (is_one_of(word, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (is_one_of(word, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return false;
  return std::nullopt;
}

/// Digits with signs, a point, an exponent, and underscores between them: what Python's readers or their users' code turn into numbers.
std::optional<nlohmann::json> number_of(std::string word) {
  std::erase(word, '_');
  if (word.empty() || word.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  if (word.find_first_of("0123456789") == std::string::npos) return std::nullopt;
  char* end = nullptr;
  if (word.find_first_of(".eE") == std::string::npos) {
    errno = 0;
    const long long whole = std::strtoll(word.c_str(), &end, 10);
    if (*end != '\0') return std::nullopt;
    if (errno == 0) return nlohmann::json(static_cast<std::int64_t>(whole));
  }
  const double real = std::strtod(word.c_str(), &end);
  if (*end != '\0' || !std::isfinite(real)) return std::nullopt;
  return nlohmann::json(real);
}

nlohmann::json scalar(const YAML::Node& node) {
  const std::string& word = node.Scalar();
  if (node.Tag() == "!") return word;  // in quotes
  if (is_one_of(word, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (const auto truth = boolean_of(word)) return *truth;
  if (auto number = number_of(word)) return std::move(*number);
  return word;
}

/// Turns nodes into values, and counts them.
class Conversion {
 public:
  nlohmann::json value(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth) fault(node, fmt::format("nested deeper than {} levels", kMaxDepth));
    if (++values_ > kMaxValues) fault(node, fmt::format("more than {} values", kMaxValues));
    if (node.IsScalar()) return scalar(node);
    if (node.IsSequence()) return sequence(node, depth);
    if (node.IsMap()) return mapping(node, depth);
    return nullptr;
  }

 private:
  nlohmann::json sequence(const YAML::Node& node, int depth) {
    nlohmann::json list = nlohmann::json::array();
    for (const YAML::Node& element : node) list.push_back(value(element, depth + 1));
    return list;
  }

  nlohmann::json mapping(const YAML::Node& node, int depth) {
    nlohmann::json object = nlohmann::json::object(), merged = nlohmann::json::object();
    for (const auto& member : node) {
      const YAML::Node& key = member.first;
      if (!key.IsScalar()) fault(key, "a key is no word");
      nlohmann::json read = value(member.second, depth + 1);
      if (key.Scalar() == "<<" && read.is_object()) {
        merged.update(read);
      } else if (!object.emplace(key.Scalar(), std::move(read)).second) {
        fault(key, fmt::format("the key '{}' is given twice", key.Scalar()));
      }
    }
    merged.update(object);  // the mapping's own keys win
    return merged;
  }

  int values_ = 0;
};

Error bad(std::string what, std::string_view where, int line) {
  return {.kind = ErrorKind::kInput, .what = std::move(what), .where = fmt::format("{}: line {}", where, line), .remedy = {}};
}

}  // namespace

Result<nlohmann::json> parse_yaml(std::string_view text, std::string_view where) {
  try {
    return Conversion().value(YAML::Load(std::string(text)), 0);
  } catch (const YamlFault& found) {
    return fail(bad(found.what, where, found.line));
  } catch (const YAML::Exception& error) {
    return fail(bad(error.msg, where, std::max(0, error.mark.line) + 1));
  }
}

}  // namespace plimsoll
