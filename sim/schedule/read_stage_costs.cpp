#include "sim/schedule/read_stage_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestFile{16 * kMiB.count};

RankCosts read_row(CsvFields& fields, bool has_hop) {
  RankCosts costs;
  costs.forward = fields.number("forward");
  costs.input_gradient = fields.number("input_gradient");
  costs.weight_gradient = fields.number("weight_gradient");
  costs.hop = has_hop ? fields.optional_number("hop").value_or(0) : 0;
  return costs;
}

}  // namespace

Result<RankCosts> parse_rank_costs(std::string_view text) {
  RankCosts costs;
  double* const fields[] = {&costs.forward, &costs.input_gradient, &costs.weight_gradient, &costs.hop};
  std::string_view rest = text;
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto number = parse_number(rest.substr(0, comma));
    const bool is_last = i + 1 == std::size(fields);
    if (!number || (comma == rest.size()) != is_last) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("'{}' is neither four numbers nor a file", text.substr(0, 80)),
                   .where = "--costs",
                   .remedy = "give forward, input gradient, weight gradient and hop, as in --costs 1,1,1,0"});
    }
    *fields[i] = *number;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return costs;
}

Result<std::vector<RankCosts>> read_stage_costs(const std::string& path) {
  const auto text = read_text_file(path, kLargestFile);
  if (!text) return fail(text.error());
  const auto table = read_csv(*text, path);
  if (!table) return fail(table.error());
  const bool has_hop = std::find(table->header.begin(), table->header.end(), "hop") != table->header.end();
  std::vector<RankCosts> costs(table->rows.size());
  std::vector<bool> seen(table->rows.size(), false);
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    const double stage = fields.number("stage");
    const bool is_stage = stage >= 0 && stage < static_cast<double>(costs.size()) && stage == std::floor(stage);
    const std::size_t index = is_stage ? static_cast<std::size_t>(stage) : 0;
    if (!is_stage || seen[index]) {
      fields.refuse("stage", fmt::format("{} {}", stage, is_stage ? "is there twice" : "is no stage"));
    }
    if (!costs.empty()) costs[index] = read_row(fields, has_hop);
    if (fields.error()) return fail(*fields.error());
    seen[index] = true;
  }
  return costs;
}

}  // namespace plimsoll
