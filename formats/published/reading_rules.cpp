#include "formats/published/reading_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest_names.h"
#include "formats/published/spelling.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "a=b & c=d" with its divider; a pair without '=' or without a key is refused.
Result<Pairs> split_pairs(std::string_view text, char divider, const std::string& place, std::string_view column) {
  Pairs pairs;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(divider));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || trimmed(pair.substr(0, equals)).empty()) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("column '{}': '{}' is no key=value", column, pair.substr(0, 60)),
                   .where = place,
                   .remedy = {}});
    }
    pairs.emplace_back(trimmed(pair.substr(0, equals)), trimmed(pair.substr(equals + 1)));
  }
  return pairs;
}

Result<void> check_keys(const ReadingRule& rule, const std::vector<std::string_view>& known) {
  for (const auto& [key, value] : rule.sets) {
    if (key == "open" || key == "refuse" || std::find(known.begin(), known.end(), key) != known.end()) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("column 'sets': unknown key '{}'", key),
                 .where = rule.place,
                 .remedy = did_you_mean(key, {known.begin(), known.end()})});
  }
  return {};
}

/// The number that "{}" stands for, if any; nothing when a field has another spelling.
std::optional<SpellingMatch> match_rule(const ReadingRule& rule, const PublishedRow& row) {
  SpellingMatch all;
  for (const auto& [column, spelling] : rule.when) {
    const auto match = match_spelling(spelling, row.field(column));
    if (!match) return std::nullopt;
    if (match->number) all.number = match->number;
  }
  return all;
}

std::string with_number(const std::string& value, const SpellingMatch& match) {
  const std::size_t at = value.find("{}");
  if (at == std::string::npos || !match.number) return value;
  return value.substr(0, at) + std::to_string(*match.number) + value.substr(at + 2);
}

void set_fact(RowReading& reading, const std::string& key, std::string value) {
  if (key == "open") return reading.open.push_back(std::move(value));
  if (key == "refuse") return reading.refusals.push_back(std::move(value));
  const auto known =
      std::find_if(reading.facts.begin(), reading.facts.end(), [&](const auto& fact) { return fact.first == key; });
  if (known == reading.facts.end()) {
    reading.facts.emplace_back(key, std::move(value));
  } else {
    known->second = std::move(value);
  }
}

}  // namespace

std::string_view RowReading::fact(std::string_view key) const {
  for (const auto& [name, value] : facts) {
    if (name == key) return value;
  }
  return {};
}

Result<std::vector<ReadingRule>> read_reading_rules(std::string_view text, std::string where,
                                                    const std::vector<std::string_view>& known_keys) {
  const auto table = read_csv(text, std::move(where));
  if (!table) return fail(table.error());
  std::vector<ReadingRule> rules;
  for (const CsvRow& line : table->rows) {
    CsvFields fields(*table, line);
    const std::string when = fields.text("when");
    const std::string sets = fields.text("sets");
    if (fields.error()) return fail(*fields.error());
    auto conditions = split_pairs(when, '&', table->place(line), "when");
    if (!conditions) return fail(conditions.error());
    auto facts = split_pairs(sets, ';', table->place(line), "sets");
    if (!facts) return fail(facts.error());
    rules.push_back({.when = std::move(*conditions), .sets = std::move(*facts), .place = table->place(line)});
    if (auto known = check_keys(rules.back(), known_keys); !known) return fail(known.error());
  }
  return rules;
}

RowReading apply_rules(const std::vector<ReadingRule>& rules, const PublishedRow& row) {
  RowReading reading;
  for (const ReadingRule& rule : rules) {
    const auto match = match_rule(rule, row);
    if (!match) continue;
    for (const auto& [key, value] : rule.sets) set_fact(reading, key, with_number(value, *match));
  }
  return reading;
}

}  // namespace plimsoll
