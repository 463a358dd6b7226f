#include "formats/machines/gpu_catalogue.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "formats/text/csv.h"
#include "formats/machines/embedded_platforms.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<GpuBoard, std::string_view>, 4> kBoards{{{GpuBoard::kGeForce, "geforce"},
                                                                        {GpuBoard::kLaptop, "laptop"},
                                                                        {GpuBoard::kProfessional, "professional"},
                                                                        {GpuBoard::kDatacenter, "datacenter"}}};

constexpr double kLargestMemoryGiB = 1e6;
constexpr double kLargestCount = 1e6;

double positive(CsvFields& fields, std::string_view column, double largest) {
  const double value = fields.number(column);
  if (value <= 0 || value > largest) fields.refuse(column, fmt::format("{} is out of range", value));
  return std::min(std::max(value, 0.0), largest);
}

std::optional<double> rate(CsvFields& fields, std::string_view column) {
  const auto value = fields.optional_number(column);
  if (value && *value < 0) fields.refuse(column, fmt::format("{} is negative", *value));
  return value;
}

std::optional<int> small_count(CsvFields& fields, std::string_view column) {
  const auto value = fields.optional_number(column);
  if (!value) return std::nullopt;
  if (*value < 1 || *value > 64 || *value != std::floor(*value)) {
    fields.refuse(column, "a whole number from 1 to 64 is needed");
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

/// Between semicolons.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    const std::size_t first = name.find_first_not_of(' ');
    if (first != std::string_view::npos) names.emplace_back(name.substr(first));
  }
  return names;
}

GpuEntry read_entry(CsvFields& fields) {
  GpuEntry gpu;
  gpu.name = fields.text("name");
  if (gpu.name.empty()) fields.refuse("name", "empty");
  gpu.architecture = fields.text("arch");
  const auto board = parse_gpu_board(fields.text("board"));
  if (!board) fields.refuse("board", "geforce, laptop, professional or datacenter is needed");
  gpu.board = board.value_or(GpuBoard::kGeForce);
  gpu.multiprocessors = static_cast<std::int64_t>(positive(fields, "sm", kLargestCount));
  gpu.compute_capability = fields.text("compute_capability");
  const double mebibytes = positive(fields, "mem_gib", kLargestMemoryGiB) * 1024.0;
  gpu.memory = Bytes(static_cast<std::int64_t>(mebibytes) * kMiB.count);
  gpu.memory_gbs = positive(fields, "mem_bw_gbs", kLargestCount);
  gpu.l2_mib = rate(fields, "l2_mib");
  gpu.fp32_tflops = rate(fields, "fp32_tflops");
  gpu.tf32_tflops = rate(fields, "tf32_tc_tflops");
  gpu.fp16_fp16acc_tflops = rate(fields, "fp16_tc_fp16acc_tflops");
  gpu.fp16_tflops = rate(fields, "fp16_tc_fp32acc_tflops");
  gpu.bf16_tflops = rate(fields, "bf16_tc_tflops");
  gpu.fp8_tflops = rate(fields, "fp8_tflops");
  gpu.fp64_tflops = rate(fields, "fp64_tflops");
  gpu.pcie_generation = small_count(fields, "pcie_gen");
  gpu.pcie_lanes = small_count(fields, "pcie_lanes");
  gpu.nvlink_gbs = rate(fields, "nvlink_gbs_total");
  gpu.power_watts = rate(fields, "tdp_w");
  if (fields.has("aliases")) gpu.aliases = names_in(fields.text("aliases"));
  gpu.source = fields.text("source");
  return gpu;
}

}  // namespace

Result<std::vector<GpuEntry>> read_gpu_catalogue(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return tl::make_unexpected(table.error());
  std::vector<GpuEntry> entries;
  std::set<std::string> names;
  for (const auto& row : table->rows) {
    CsvFields fields(*table, row);
    GpuEntry gpu = read_entry(fields);
    if (!names.insert(gpu.name).second) fields.refuse("name", fmt::format("'{}' stands there twice", gpu.name));
    for (const std::string& alias : gpu.aliases) {
      if (!names.insert(alias).second) fields.refuse("aliases", fmt::format("'{}' stands there twice", alias));
    }
    if (fields.error()) return fail(*fields.error());
    entries.push_back(std::move(gpu));
  }
  return entries;
}

const std::vector<GpuEntry>& built_in_gpu_catalogue() {
  static constexpr std::string_view kFile = "data/platforms/gpus.csv";
  static const std::vector<GpuEntry> entries =
      read_gpu_catalogue(embedded_platforms(kFile), std::string(kFile)).value();
  return entries;
}

bool is_simulated_only(const GpuEntry& gpu) { return gpu.compute_capability.starts_with("gfx"); }

PrecisionAdvice default_precision(const GpuEntry& gpu) {
  if (gpu.bf16_tflops.value_or(0) > 0) {
    return {.precision = Precision::kBf16Mixed,
            .reason = fmt::format("{} has bf16 matrix units ({} TFLOP/s), which need no loss scaling", gpu.name,
                                  *gpu.bf16_tflops)};
  }
  if (gpu.fp16_tflops.value_or(0) > 0) {
    return {.precision = Precision::kFp16Mixed,
            .reason = fmt::format("{} ({}) has fp16 matrix units ({} TFLOP/s) but none for bf16", gpu.name,
                                  gpu.architecture, *gpu.fp16_tflops)};
  }
  return {.precision = Precision::kFp32,
          .reason = fmt::format("{} ({}) has no matrix units; its fp16 products are slower than fp32", gpu.name,
                                gpu.architecture)};
}

std::string_view to_text(GpuBoard board) {
  for (const auto& [known, name] : kBoards) {
    if (known == board) return name;
  }
  return "?";
}

std::optional<GpuBoard> parse_gpu_board(std::string_view text) {
  for (const auto& [board, name] : kBoards) {
    if (name == text) return board;
  }
  return std::nullopt;
}

}  // namespace plimsoll
