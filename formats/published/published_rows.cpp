#include "formats/published/published_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "formats/published/embedded_published.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

/// What a file of each kind must have; the columns after the first three tell the kinds apart.
struct TableShape {
  PublishedTable table;
  std::string_view mark;  ///< a column that only this kind has
  std::string_view system;
  std::string_view model;
  std::string_view metric;
  std::string_view value;
  std::span<const std::string_view> needed;
};

constexpr std::string_view kMemoryColumns[] = {
    "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq", "micro_batch", "precision", "optimizer",
    "checkpointing", "offload", "n_gpu", "gpu", "unit", "source", "notes"};
constexpr std::string_view kThroughputColumns[] = {
    "params_b", "layers", "hidden", "heads", "seq", "global_batch", "micro_batch", "n_gpu", "gpu", "precision",
    "checkpointing", "unit", "source"};
constexpr std::string_view kOffloadColumns[] = {
    "params_b", "layers", "hidden", "heads", "seq", "batch", "gpu", "gpu_mem_gb", "ssd", "pcie", "unit", "source"};
constexpr std::string_view kParallelColumns[] = {
    "schedule", "params_b", "layers", "hidden", "heads", "seq", "global_batch", "micro_batch", "pp", "tp", "dp",
    "vpp", "gpu", "n_gpu", "unit", "source"};
constexpr std::string_view kOperatorsColumns[] = {
    "x_name", "x_value", "extra_benchmark_config_str", "gpu_name"};
constexpr std::string_view kInferenceColumns[] = {
    "prompt", "new_tokens", "batch", "gpu_batch", "percent", "weight_bits", "cache_bits", "pageable", "eager_codes",
    "overlap", "gpu", "ram_gb", "cores", "dram_gbs", "ssd_read_gbs", "ssd_write_gbs", "unit", "open", "source"};

constexpr TableShape kTableShapes[] = {
    {PublishedTable::kMemory, "zero_stage", "system", "model", "metric", "value", kMemoryColumns},
    {PublishedTable::kThroughput, "sharding", "system", "model", "metric", "value", kThroughputColumns},
    {PublishedTable::kOffload, "cpu_mem_gb", "system", "model", "metric", "value", kOffloadColumns},
    {PublishedTable::kParallel, "interconnect", "system", "model", "metric", "value", kParallelColumns},
    {PublishedTable::kOperators, "kernel_operation_mode", "kernel_provider", "kernel_name", "metric_unit", "y_value_50", kOperatorsColumns},
    {PublishedTable::kInference, "cpu_attention", "system", "model", "metric", "value", kInferenceColumns}};

bool has(const std::vector<std::string>& header, std::string_view column) {
  return std::find(header.begin(), header.end(), column) != header.end();
}

const TableShape* shape_of(const std::vector<std::string>& header) {
  for (const TableShape& shape : kTableShapes) {
    if (has(header, shape.mark)) return &shape;
  }
  return nullptr;
}

Result<const TableShape*> checked_shape(const CsvTable& table) {
  const TableShape* shape = shape_of(table.header);
  if (shape == nullptr) {
    return fail(
        {.kind = ErrorKind::kInput,
         .what = "the header is not one of published rows",
         .where = table.where,
         .remedy = "take the columns of data/published/memory.csv, throughput.csv, offload.csv, parallel.csv or inference.csv"});
  }
  std::vector<std::string_view> needed{shape->system, shape->model, shape->metric, shape->value};
  needed.insert(needed.end(), shape->needed.begin(), shape->needed.end());
  for (const std::string_view column : needed) {
    if (has(table.header, column)) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("rows of kind {} need a column '{}'", to_text(shape->table), column),
                 .where = fmt::format("{}:1", table.where),
                 .remedy = fmt::format("its columns are {}", fmt::join(needed, ", "))});
  }
  return shape;
}

tl::unexpected<Error> refuse(const PublishedRow& row, std::string_view column, std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("column '{}': {}", column, what),
               .where = row.place,
               .remedy = {}});
}

Result<PublishedRow> read_row(const CsvTable& table, const CsvRow& line, const TableShape& shape) {
  PublishedRow row;
  row.table = shape.table;
  row.place = table.place(line);
  for (std::size_t i = 0; i < table.header.size(); ++i) row.fields.emplace_back(table.header[i], line.fields[i]);
  for (const std::string_view column : {shape.system, shape.model, shape.metric}) {
    if (row.field(column).empty()) return refuse(row, column, "a row needs one");
  }
  row.value = parse_number(row.field(shape.value));
  return row;
}

constexpr std::string_view kShipped[] = {"data/published/memory.csv",          "data/published/throughput.csv",
                                         "data/published/offload.csv",         "data/published/parallel.csv",
                                         "data/published/op_memory_liger.csv", "data/published/throughput_more.csv"};

}  // namespace

bool looks_like_published_rows(std::string_view text) {
  const auto header = read_csv(text.substr(0, text.find('\n')), "header");
  return header && shape_of(header->header) != nullptr;
}

Result<std::vector<PublishedRow>> read_published_rows(std::string_view text, std::string where) {
  const auto table = read_csv(text, std::move(where));
  if (!table) return fail(table.error());
  const auto shape = checked_shape(*table);
  if (!shape) return fail(shape.error());
  std::vector<PublishedRow> rows;
  for (const CsvRow& line : table->rows) {
    auto row = read_row(*table, line, **shape);
    if (!row) return fail(row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

Result<std::vector<PublishedRow>> shipped_inference_rows() {
  constexpr std::string_view kName = "data/published/inference.csv";
  return read_published_rows(embedded_published(kName), std::string(kName));
}

Result<std::vector<PublishedRow>> shipped_parallel_rows() {
  std::vector<PublishedRow> all;
  for (const std::string_view name : {"data/published/parallel.csv", "data/published/parallel_more.csv"}) {
    auto rows = read_published_rows(embedded_published(name), std::string(name));
    if (!rows) return fail(rows.error());
    std::move(rows->begin(), rows->end(), std::back_inserter(all));
  }
  return all;
}

Result<std::vector<PublishedRow>> shipped_published_rows() {
  std::vector<PublishedRow> all;
  for (const std::string_view name : kShipped) {
    auto rows = read_published_rows(embedded_published(name), std::string(name));
    if (!rows) return fail(rows.error());
    std::move(rows->begin(), rows->end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace plimsoll
