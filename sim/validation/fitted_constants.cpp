#include "sim/validation/fitted_constants.h"

#include <fmt/format.h>

#include <map>

#include "formats/published/embedded_published.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::string_view kShipped = "data/calibration/fitted_constants.csv";

Result<void> check_families(const std::vector<FittedConstant>& constants, const std::string& where) {
  std::map<std::string, int> families;
  for (const FittedConstant& constant : constants) ++families[constant.constant];
  for (const auto& [constant, count] : families) {
    if (count > 1) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("'{}' is fitted on one family alone: no row left out tells how good it is", constant),
                 .where = where,
                 .remedy = "fit it on rows of two families at least, and add a line for each that is left out"});
  }
  return {};
}

}  // namespace

Result<std::vector<FittedConstant>> read_fitted_constants(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return fail(table.error());
  std::vector<FittedConstant> constants;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    constants.push_back({.constant = fields.text("constant"), .unit = fields.text("unit"), .value = fields.number("value"),
                         .rows = fields.text("rows"), .left_out = fields.text("left_out"),
                         .value_without = fields.number("value_without"), .error_without = fields.number("error_without")});
    if (fields.error()) return fail(*fields.error());
  }
  if (auto sound = check_families(constants, table->where); !sound) return fail(sound.error());
  return constants;
}

Result<std::vector<FittedConstant>> shipped_fitted_constants() {
  return read_fitted_constants(embedded_published(kShipped), std::string(kShipped));
}

}  // namespace plimsoll
