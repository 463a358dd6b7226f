#include "formats/machines/constant_table.h"

#include <fmt/format.h>

#include <stdexcept>

#include "formats/text/csv.h"
#include "formats/machines/embedded_platforms.h"

namespace plimsoll {

Result<ConstantTable> ConstantTable::read(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return tl::make_unexpected(table.error());
  ConstantTable constants;
  for (const auto& row : table->rows) {
    CsvFields fields(*table, row);
    const std::string key = fields.text("key");
    Entry entry{.value = fields.number("value"), .unit = fields.text("unit"), .origin = fields.text("origin")};
    if (key.empty() || constants.has(key)) fields.refuse("key", fmt::format("'{}' is empty or repeated", key));
    if (fields.error()) return fail(*fields.error());
    constants.entries_.emplace(key, std::move(entry));
  }
  return constants;
}

const ConstantTable::Entry& ConstantTable::entry(std::string_view key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) throw std::out_of_range(fmt::format("no constant '{}'", key));
  return found->second;
}

namespace {

ConstantTable embedded_table(std::string_view file) {
  return ConstantTable::read(embedded_platforms(file), std::string(file)).value();
}

}  // namespace

const ConstantTable& machine_defaults() {
  static const ConstantTable table = embedded_table("data/platforms/machine_defaults.csv");
  return table;
}

const ConstantTable& process_memory_constants() {
  static const ConstantTable table = embedded_table("data/calibration/process_memory.csv");
  return table;
}

}  // namespace plimsoll
