#include "formats/traces/read_operator_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOperators = 200'000;
constexpr std::size_t kMostValues = 400'000;
constexpr std::size_t kMostOfOne = 4096;  ///< inputs, and outputs, of one operator
/// Of inputs with outputs, in all: what a plan looks at, and holds several times.
constexpr std::size_t kMostPairs = 8'000'000;
/// So that sums of so many, and of twenty runs of each, stay below 2^62.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 40;

/// A line that cannot be used; read_operator_log adds where it is.
struct LineTrouble {
  std::string what;
};

const json& field(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) throw LineTrouble{fmt::format("there is no {}", key)};
  return *found;
}

/// Numbers may be written as texts.
std::int64_t number(const json& line, const char* key) {
  const json& value = field(line, key);
  std::int64_t read = -2;
  if (value.is_number_unsigned())
    read = static_cast<std::int64_t>(std::min<std::uint64_t>(value.get<std::uint64_t>(), kMostNumber + 1));
  else if (value.is_number_integer())
    read = value.get<std::int64_t>();
  if (value.is_number_float()) read = static_cast<std::int64_t>(std::clamp(value.get<double>(), -2.0, 9e18));
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), read);
    if (trouble != std::errc() || end != text.data() + text.size()) read = -2;
  }
  if (read < -1 || read > kMostNumber) throw LineTrouble{fmt::format("{} is no number from -1 to 2^40", key)};
  return read;
}

std::string text_of(const json& line, const char* key) {
  const json& value = field(line, key);
  if (!value.is_string()) throw LineTrouble{fmt::format("{} is no text", key)};
  return value.get<std::string>();
}

std::vector<std::string> texts_of(const json& line, const char* key) {
  const json& value = field(line, key);
  std::vector<std::string> texts;
  if (!value.is_array()) throw LineTrouble{fmt::format("{} is no list", key)};
  for (const json& item : value) {
    if (!item.is_string()) throw LineTrouble{fmt::format("{} is no list of texts", key)};
    texts.push_back(item.get<std::string>());
  }
  if (texts.size() > kMostOfOne) throw LineTrouble{fmt::format("{} has more than {} names", key, kMostOfOne)};
  return texts;
}

/// The lines of a log, one after the other.
class LogLines {
 public:
  explicit LogLines(std::string_view text) : text_(text) {}
  [[nodiscard]] std::size_t number() const { return number_; }

  std::optional<json> next() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = text_.substr(at_, end - at_);
      at_ = end + 1, ++number_;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      json parsed = json::parse(line, nullptr, false);
      if (!parsed.is_object()) throw LineTrouble{"this is no JSON object"};
      return parsed;
    }
    return std::nullopt;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, number_ = 0;
};

/// The graph as it grows; names mean values, and what a name means may change.
class GraphWriter {
 public:
  explicit GraphWriter(LogLines& lines) : lines_(lines) {}

  void take(const json& line) {
    const std::string what = text_of(line, "INSTRUCTION");
    if (what == "CONSTANT") return constant(text_of(line, "NAME"));
    if (what == "CALL") return call(line);
    if (what == "MUTATE") return mutate(line);
    if (what == "COPY") return hold(text_of(line, "DST"), named(text_of(line, "SRC")));
    if (what == "RELEASE") return release(text_of(line, "NAME"));
    if (what == "COPY_FROM") return copy_from(text_of(line, "DST"), named(text_of(line, "SRC")));
    if (what == "ANNOTATE") return;
    throw LineTrouble{fmt::format("the instruction {} is not known", what)};
  }

  OperatorGraph finish() {
    std::vector<char> listed(graph_.values.size(), 0);
    for (const std::string& name : names_) {
      const ValueId value = meaning_.at(name);
      if (references_[value.index] <= 0 || listed[value.index] != 0) continue;
      listed[value.index] = 1;
      graph_.kept.push_back(value);
    }
    return std::move(graph_);
  }

 private:
  [[nodiscard]] ValueId named(const std::string& name) const {
    const auto found = meaning_.find(name);
    if (found == meaning_.end()) throw LineTrouble{fmt::format("nothing is called {} here", name)};
    return found->second;
  }

  /// A line that must follow, about the value of that name.
  json follows(const char* what, const std::string& name) {
    const auto line = lines_.next();
    if (!line || text_of(*line, "INSTRUCTION") != what || text_of(*line, "NAME") != name)
      throw LineTrouble{fmt::format("{} of {} must stand here", what, name)};
    return *line;
  }

  void mean(const std::string& name, ValueId value) {
    if (meaning_.insert_or_assign(name, value).second) names_.push_back(name);
  }

  void add(Operator made, const std::vector<std::string>& names, const std::vector<Bytes>& sizes,
           const std::vector<int>& views) {
    if (graph_.operators.size() >= kMostOperators)
      throw LineTrouble{fmt::format("there are more than {} operators", kMostOperators)};
    if (graph_.values.size() >= kMostValues)
      throw LineTrouble{fmt::format("there are more than {} values", kMostValues)};
    pairs_ += made.inputs.size() * names.size();
    if (pairs_ > kMostPairs)
      throw LineTrouble{fmt::format("there are more than {} pairs of an input and an output", kMostPairs)};
    const OperatorId id = add_operator(graph_, made, names, sizes, views);
    references_.resize(graph_.values.size(), 0);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const ValueId value = graph_.at(id).outputs[i];
      mean(names[i], value);
      references_[value.index] = 1;
    }
  }

  void constant(const std::string& name) {
    check_new(name);
    const json memory = follows("MEMORY", name);
    add({.name = "constant", .constant = true}, {name}, {bytes(memory)}, {-1});
  }

  static Bytes bytes(const json& memory) { return Bytes(std::max<std::int64_t>(0, number(memory, "MEMORY"))); }

  void check_new(const std::string& name) const {
    if (meaning_.contains(name)) throw LineTrouble{fmt::format("{} is there already", name)};
  }

  void call(const json& line) {
    Operator made{.name = text_of(line, "NAME"), .time = Nanoseconds(std::max<std::int64_t>(0, number(line, "TIME")))};
    for (const std::string& name : texts_of(line, "ARGS")) made.inputs.push_back(named(name));
    const std::vector<std::string> results = texts_of(line, "RESULT");
    if (results.empty()) throw LineTrouble{"RESULT is empty"};
    std::vector<Bytes> sizes;
    std::vector<int> views;
    for (const std::string& name : results) {
      check_new(name);
      const Bytes size = bytes(follows("MEMORY", name));
      const std::int64_t view = number(follows("ALIAS", name), "ALIAS");
      if (view >= static_cast<std::int64_t>(made.inputs.size()))
        throw LineTrouble{fmt::format("ALIAS {} is no place in ARGS", view)};
      views.push_back(static_cast<int>(view));
      sizes.push_back(view >= 0 ? Bytes(0) : size);
    }
    add(std::move(made), results, sizes, views);
  }

  void mutate(const json& line) {
    Operator made{.name = text_of(line, "NAME"), .time = Nanoseconds(std::max<std::int64_t>(0, number(line, "TIME")))};
    const std::vector<std::string> arguments = texts_of(line, "ARGS");
    for (const std::string& name : arguments) made.inputs.push_back(named(name));
    std::vector<std::string> names;
    std::vector<Bytes> sizes;
    std::vector<ValueId> old;
    for (const json& place : field(line, "MUTATE")) {
      if (!place.is_number_unsigned() || place.get<std::size_t>() >= arguments.size())
        throw LineTrouble{"MUTATE is no list of places in ARGS"};
      names.push_back(arguments[place.get<std::size_t>()]);
      old.push_back(named(names.back()));
      sizes.push_back(graph_.at(graph_.at(old.back()).storage).size);
    }
    if (names.empty()) throw LineTrouble{"MUTATE is empty"};
    if (names.size() > kMostOfOne) throw LineTrouble{fmt::format("MUTATE has more than {} places", kMostOfOne)};
    add(std::move(made), names, sizes, std::vector<int>(names.size(), -1));
    for (const ValueId value : old) let_go(value);
  }

  void hold(const std::string& name, ValueId value) {
    check_new(name);
    mean(name, value);
    ++references_[value.index];
    graph_.events.push_back({OperatorEvent::Kind::kHold, value.index});
  }

  void let_go(ValueId value) {
    --references_[value.index];
    graph_.events.push_back({OperatorEvent::Kind::kRelease, value.index});
  }

  /// What was never named here is of no interest.
  void release(const std::string& name) {
    if (const auto found = meaning_.find(name); found != meaning_.end()) let_go(found->second);
  }

  void copy_from(const std::string& name, ValueId value) {
    const ValueId old = named(name);
    mean(name, value);
    ++references_[value.index];
    let_go(old);
    graph_.events.push_back({OperatorEvent::Kind::kHold, value.index});
  }

  LogLines& lines_;
  OperatorGraph graph_;
  std::map<std::string, ValueId> meaning_;
  std::vector<std::string> names_;  ///< in the order in which they came up
  std::vector<int> references_;     ///< by value
  std::size_t pairs_ = 0;
};

/// From behind the last line before which nothing counts.
std::string_view counted(std::string_view text) {
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find("\"ANNOTATE\"") == std::string_view::npos || line.find("\"START\"") == std::string_view::npos)
      continue;
    from = std::min(at, text.size());
    break;
  }
  return text.substr(from);
}

}  // namespace

bool is_operator_log(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return first.find("\"INSTRUCTION\"") != std::string_view::npos;
}

Result<OperatorGraph> read_operator_log(std::string_view text, const std::string& where) {
  const std::string_view used = counted(text);
  const auto skipped =
      static_cast<std::size_t>(std::count(text.begin(), text.end() - static_cast<std::ptrdiff_t>(used.size()), '\n'));
  LogLines lines(used);
  GraphWriter writer(lines);
  try {
    while (const auto line = lines.next()) writer.take(*line);
  } catch (const LineTrouble& trouble) {
    return fail({.kind = ErrorKind::kInput,
                 .what = trouble.what,
                 .where = fmt::format("{}:{}", where, skipped + lines.number()),
                 .remedy = "a log of operators has lines as docs/plan-format.md describes them"});
  }
  OperatorGraph graph = writer.finish();
  if (graph.operators.empty())
    return fail({.kind = ErrorKind::kInput, .what = "there is no operator in this log", .where = where, .remedy = {}});
  return graph;
}

}  // namespace plimsoll
