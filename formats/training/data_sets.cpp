#include "formats/training/data_sets.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest_names.h"
#include "formats/text/csv.h"
#include "formats/training/embedded_training.h"

namespace plimsoll {
namespace {

constexpr std::string_view kDataSets = "data/training/data_sets.csv";
constexpr std::string_view kConstants = "data/training/training_constants.csv";

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

DataUnit read_unit(CsvFields& fields) {
  const std::string text = fields.text("unit");
  if (text == "samples") return DataUnit::kSamples;
  if (text != "tokens") fields.refuse("unit", fmt::format("'{}' is neither tokens nor samples", text));
  return DataUnit::kTokens;
}

DataContent read_content(CsvFields& fields) {
  const std::string text = fields.text("content");
  if (text == "image") return DataContent::kImage;
  if (text != "text") fields.refuse("content", fmt::format("'{}' is neither text nor image", text));
  return DataContent::kText;
}

}  // namespace

Result<std::vector<DataSet>> read_data_sets(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return fail(table.error());
  std::vector<DataSet> sets;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    DataSet set{.name = fields.text("name"), .aliases = split(fields.text("aliases"), ';'), .unit = read_unit(fields)};
    set.count = fields.number("count");
    set.bytes = fields.optional_number("bytes");
    set.content = read_content(fields);
    set.origin = fields.text("origin");
    if (set.name.empty()) fields.refuse("name", "a data set without a name");
    if (set.count <= 0) fields.refuse("count", "a data set without anything in it");
    if (set.origin.empty()) fields.refuse("origin", "a size from nowhere");
    if (fields.error()) return fail(*fields.error());
    sets.push_back(std::move(set));
  }
  return sets;
}

const std::vector<DataSet>& known_data_sets() {
  static const std::vector<DataSet> sets = read_data_sets(embedded_training(kDataSets), std::string(kDataSets)).value();
  return sets;
}

const DataSet* find_data_set(std::string_view name) {
  const std::string key = name_key(name);
  for (const DataSet& set : known_data_sets()) {
    const bool alias = std::any_of(set.aliases.begin(), set.aliases.end(), [&](const auto& a) { return name_key(a) == key; });
    if (alias || name_key(set.name) == key) return &set;
  }
  return nullptr;
}

const ConstantTable& training_constants() {
  static const ConstantTable table = ConstantTable::read(embedded_training(kConstants), std::string(kConstants)).value();
  return table;
}

std::string_view to_text(DataUnit unit) { return unit == DataUnit::kTokens ? "tokens" : "samples"; }

}  // namespace plimsoll
