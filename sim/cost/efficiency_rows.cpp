#include "sim/cost/efficiency_rows.h"

#include <fmt/format.h>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

// Above 1 for boards that run faster than their nominal clock; beyond 3 it is a mistake.
constexpr double kLargestShare = 3.0;

double share(CsvFields& fields, std::string_view column) {
  const double value = fields.number(column);
  if (value <= 0 || value > kLargestShare) fields.refuse(column, fmt::format("{} is no share", value));
  return value;
}

ProductRow read_product(CsvFields& fields) {
  return {.gpu = fields.text("gpu"),
          .precision = fields.text("precision"),
          .samples = fields.number("n_samples"),
          .best = share(fields, "best_efficiency"),
          .median_large = share(fields, "median_efficiency_large")};
}

BandwidthRow read_bandwidth(CsvFields& fields) {
  return {.gpu = fields.text("gpu"), .op = fields.text("op"), .share = share(fields, "fraction")};
}

AttentionRow read_attention(CsvFields& fields) {
  const std::string board = fields.text("board");
  const std::string pass = fields.text("pass");
  if (!board.empty() && !parse_gpu_board(board)) fields.refuse("board", fmt::format("unknown board '{}'", board));
  if (pass != "forward" && pass != "backward") fields.refuse("pass", "forward or backward is needed");
  return {.architecture = fields.text("architecture"),
          .board = parse_gpu_board(board),
          .dtype = fields.text("dtype"),
          .kernel = fields.text("kernel"),
          .head_dim = fields.number("head_dim"),
          .backward = pass == "backward",
          .at_512 = share(fields, "at_512"),
          .at_8192 = share(fields, "at_8192"),
          .measured = fields.text("basis") == "measured"};
}

template <typename Row>
Result<std::vector<Row>> read_rows(std::string_view csv, std::string where, Row (*read)(CsvFields&)) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return tl::make_unexpected(table.error());
  std::vector<Row> rows;
  for (const auto& row : table->rows) {
    CsvFields fields(*table, row);
    rows.push_back(read(fields));
    if (fields.error()) return fail(*fields.error());
  }
  return rows;
}

}  // namespace

Result<std::vector<ProductRow>> read_product_rows(std::string_view csv, std::string where) {
  return read_rows(csv, std::move(where), read_product);
}

Result<std::vector<BandwidthRow>> read_bandwidth_rows(std::string_view csv, std::string where) {
  return read_rows(csv, std::move(where), read_bandwidth);
}

Result<std::vector<AttentionRow>> read_attention_rows(std::string_view csv, std::string where) {
  return read_rows(csv, std::move(where), read_attention);
}

}  // namespace plimsoll
