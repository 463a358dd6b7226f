#include "formats/machines/memory_overheads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/text/csv.h"
#include "formats/machines/embedded_platforms.h"

namespace plimsoll {
namespace {

constexpr double kLargestMiB = 1e6;

double amount(CsvFields& fields, std::string_view column) {
  const double value = fields.number(column);
  if (value < 0 || value > kLargestMiB) fields.refuse(column, fmt::format("{} is out of range", value));
  return value;
}

MemoryOverhead read_overhead(CsvFields& fields) {
  MemoryOverhead row;
  row.item = fields.text("item");
  row.gpu = fields.text("gpu");
  const std::string board = fields.text("board");
  row.board = parse_gpu_board(board);
  if (!board.empty() && !row.board) fields.refuse("board", fmt::format("unknown board '{}'", board));
  row.architecture = fields.text("architecture");
  row.nominal_share = amount(fields, "nominal_share");
  if (row.nominal_share > 1) fields.refuse("nominal_share", "more than all");
  row.mib = amount(fields, "mib");
  row.mib_per_multiprocessor = amount(fields, "mib_per_multiprocessor");
  row.at_least_mib = amount(fields, "at_least_mib");
  row.conditions = fields.text("conditions");
  row.source = fields.text("source");
  return row;
}

}  // namespace

Result<std::vector<MemoryOverhead>> read_memory_overheads(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return tl::make_unexpected(table.error());
  std::vector<MemoryOverhead> rows;
  for (const auto& row : table->rows) {
    CsvFields fields(*table, row);
    rows.push_back(read_overhead(fields));
    if (fields.error()) return fail(*fields.error());
  }
  return rows;
}

const std::vector<MemoryOverhead>& built_in_memory_overheads() {
  static constexpr std::string_view kFile = "data/platforms/memory_overheads.csv";
  static const std::vector<MemoryOverhead> rows =
      read_memory_overheads(embedded_platforms(kFile), std::string(kFile)).value();
  return rows;
}

const MemoryOverhead* find_overhead(const std::vector<MemoryOverhead>& rows, std::string_view item,
                                    const GpuEntry& gpu) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const MemoryOverhead& row) {
    return row.item == item && (row.gpu.empty() || row.gpu == gpu.name) && (!row.board || *row.board == gpu.board) &&
           (row.architecture.empty() || row.architecture == gpu.architecture);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<const MemoryOverhead*> overheads_of(const GpuEntry& gpu, OperatingSystem os, bool desktop) {
  const bool consumer = gpu.board == GpuBoard::kGeForce || gpu.board == GpuBoard::kLaptop;
  const bool displays = os != OperatingSystem::kLinux && gpu.board != GpuBoard::kDatacenter;
  std::vector<std::string_view> items{"context"};
  // Windows shows all of a consumer board's memory and keeps its share of it later.
  if (!displays || !consumer) items.insert(items.begin(), "carve_out");
  if (displays || desktop) items.emplace_back(displays ? "wddm" : "desktop");
  std::vector<const MemoryOverhead*> rows;
  for (const std::string_view item : items) {
    const MemoryOverhead* row = find_overhead(built_in_memory_overheads(), item, gpu);
    if (row != nullptr) rows.push_back(row);
  }
  return rows;
}

Bytes overhead_bytes(const MemoryOverhead& row, const GpuEntry& gpu) {
  const double memory_mib = static_cast<double>(gpu.memory.count) / static_cast<double>(kMiB.count);
  const double mib =
      row.nominal_share * memory_mib + row.mib + row.mib_per_multiprocessor * static_cast<double>(gpu.multiprocessors);
  return kMiB * static_cast<std::int64_t>(std::ceil(std::max(mib, row.at_least_mib)));
}

}  // namespace plimsoll
