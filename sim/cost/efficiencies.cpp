#include "sim/cost/efficiencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "sim/cost/efficiency_rows.h"
#include "sim/cost/embedded_calibration.h"
#include "sim/cost/quantile.h"

namespace plimsoll {
namespace {

constexpr double kShortSequence = 512;
constexpr double kLongSequence = 8192;
// Of one or two runs that differ by more than this, neither is believed.
constexpr double kAgreement = 1.2;
constexpr double kFewRuns = 2;

template <typename Row>
std::vector<Row> embedded(std::string_view file, Result<std::vector<Row>> (*read)(std::string_view, std::string)) {
  return read(embedded_calibration(file), std::string(file)).value();
}

const std::vector<ProductRow>& product_rows() {
  static const auto rows = embedded("data/calibration/gemm_efficiency_by_gpu.csv", read_product_rows);
  return rows;
}

const std::vector<BandwidthRow>& bandwidth_rows() {
  static const auto rows = embedded("data/calibration/memory_bandwidth.csv", read_bandwidth_rows);
  return rows;
}

const std::vector<AttentionRow>& attention_rows() {
  static const auto rows = embedded("data/calibration/attention_efficiency.csv", read_attention_rows);
  return rows;
}

bool is_consumer(GpuBoard board) { return board == GpuBoard::kGeForce || board == GpuBoard::kLaptop; }
bool same_sort(const GpuEntry& a, const GpuEntry& b) {
  return a.board == b.board || (is_consumer(a.board) && is_consumer(b.board));
}

bool is_credible(const ProductRow& row) { return row.samples > kFewRuns || row.best <= kAgreement * row.median_large; }

std::string base_clock_key(std::string_view gpu) { return fmt::format("sustained.{}", gpu); }

/// Boards of so few watts that they run every product at their base clock, which tells nothing of others.
bool keeps_base_clock(const GpuEntry& gpu) {
  return gpu.board == GpuBoard::kProfessional && cost_constants().has(base_clock_key(gpu.name));
}

/// How far a measured board is from the one asked for; smaller is nearer. What plain fp32 units reach is a matter of
/// the architecture first, what matrix units reach one of the sort of board, whose power and accumulators they share.
int distance(const GpuEntry& asked, const GpuEntry& measured, DType dtype) {
  if (asked.name == measured.name) return 0;
  const bool sort = same_sort(asked, measured);
  const bool architecture = asked.architecture == measured.architecture;
  if (sort && architecture) return 1;
  return (dtype == DType::kFp32 ? architecture : sort) ? 2 : 3;
}

const GpuEntry* entry_named(std::string_view name) {
  const auto& entries = built_in_gpu_catalogue();
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const GpuEntry& gpu) { return gpu.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::string_view column_of(FusedAttention kernel) {
  switch (kernel) {
    case FusedAttention::kFlash3: return "flash3";
    case FusedAttention::kCudnn: return "cudnn";
    case FusedAttention::kOwn: return "plimsoll";
    default: return "";
  }
}

bool is_of(const AttentionRow& row, FusedAttention kernel) { return row.kernel.empty() || row.kernel == column_of(kernel); }

bool matches(const AttentionRow& row, const GpuEntry& gpu, std::string_view dtype, bool backward) {
  const bool board =
      !row.board || *row.board == gpu.board || (*row.board == GpuBoard::kGeForce && gpu.board == GpuBoard::kLaptop);
  return board && (row.architecture.empty() || row.architecture == gpu.architecture) && row.dtype == dtype &&
         row.backward == backward;
}

double at_sequence(const AttentionRow& row, std::int64_t sequence) {
  const double tokens = std::clamp(static_cast<double>(sequence), kShortSequence, kLongSequence);
  const double way = std::log2(tokens / kShortSequence) / std::log2(kLongSequence / kShortSequence);
  return row.at_512 + way * (row.at_8192 - row.at_512);
}

/// The rows of one sort of board stand together, one for each head size.
bool same_group(const AttentionRow& a, const AttentionRow& b) {
  return a.architecture == b.architecture && a.board == b.board && a.kernel == b.kernel;
}

constexpr std::string_view kFp8 = "fp8";

const ProductRow* row_of(std::string_view gpu, std::string_view precision) {
  const auto& rows = product_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ProductRow& row) { return row.gpu == gpu && row.precision == precision; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::optional<Efficiency> fp8_efficiency(const GpuEntry& gpu) {
  if (const ProductRow* own = row_of(gpu.name, kFp8)) return Efficiency{.share = own->median_large, .origin = CostOrigin::kExtrapolated};
  const auto wide = product_efficiency(gpu, DType::kBf16);
  if (!wide) return std::nullopt;
  std::vector<double> kept;
  for (const auto& row : product_rows()) {
    const ProductRow* same = row.precision == kFp8 ? row_of(row.gpu, to_text(DType::kBf16)) : nullptr;
    if (same != nullptr) kept.push_back(row.median_large / same->median_large);
  }
  if (kept.empty()) return std::nullopt;
  return Efficiency{.share = wide->share * quantile(kept, 0.5), .origin = CostOrigin::kExtrapolated};
}

std::optional<Efficiency> product_efficiency(const GpuEntry& gpu, DType dtype) {
  std::array<std::vector<double>, 4> shares_at;
  for (const auto& row : product_rows()) {
    const auto* measured = entry_named(row.gpu);
    if (measured == nullptr || row.precision != to_text(dtype) || !is_credible(row)) continue;
    if (gpu.name != measured->name && keeps_base_clock(*measured)) continue;
    shares_at[static_cast<std::size_t>(distance(gpu, *measured, dtype))].push_back(row.median_large);
  }
  for (std::size_t i = 0; i < shares_at.size(); ++i) {
    if (shares_at[i].empty()) continue;
    const double share = quantile(shares_at[i], 0.5);
    return Efficiency{.share = std::min(share, powered_share(gpu, dtype).value_or(share)),
                      .origin = i == 0 ? CostOrigin::kCatalogue : CostOrigin::kExtrapolated};
  }
  return std::nullopt;
}

std::optional<double> powered_share(const GpuEntry& gpu, DType dtype) {
  const std::string key = fmt::format("power.{}.{}", gpu.architecture, to_text(gpu.board));
  const auto& rate = gpu.bf16_tflops ? gpu.bf16_tflops : gpu.fp16_tflops;
  if (size_of(dtype) > 2 || !rate || !gpu.power_watts || !cost_constants().has(key)) return std::nullopt;
  return cost_constants().at(key) * std::pow(*gpu.power_watts / *rate, cost_constants().at("power.exponent"));
}

std::optional<double> sustained_share(std::string_view gpu, DType dtype) {
  const std::string key = base_clock_key(gpu);
  if (size_of(dtype) > 2 || !cost_constants().has(key)) return std::nullopt;
  return cost_constants().at(key) * cost_constants().at("step.professional");
}

Efficiency memory_efficiency(const GpuEntry& gpu) {
  std::vector<double> shares;
  for (const auto& row : bandwidth_rows()) {
    if (row.gpu == gpu.name && (row.op == "scale(1R1W)" || row.op == "triad(2R1W)")) shares.push_back(row.share);
  }
  if (!shares.empty()) return {.share = quantile(shares, 0.5), .origin = CostOrigin::kCatalogue};
  return {.share = cost_constants().at("memory.fused"), .origin = CostOrigin::kExtrapolated};
}

std::optional<Efficiency> attention_efficiency(const GpuEntry& gpu, DType dtype, std::int64_t sequence,
                                               std::int64_t head_dim, bool backward, FusedAttention kernel) {
  const std::string_view kind = dtype == DType::kBf16 ? to_text(DType::kFp16) : to_text(dtype);
  const AttentionRow* small = nullptr;
  const AttentionRow* large = nullptr;
  for (const auto& row : attention_rows()) {
    if (!is_of(row, kernel) || !matches(row, gpu, kind, backward) || (small != nullptr && !same_group(*small, row))) continue;
    if (small == nullptr) small = &row;
    large = &row;
  }
  if (small == nullptr) return std::nullopt;
  double share = at_sequence(*small, sequence);
  if (large->head_dim > small->head_dim) {
    const double way = (static_cast<double>(head_dim) - small->head_dim) / (large->head_dim - small->head_dim);
    share += std::clamp(way, 0.0, 1.0) * (at_sequence(*large, sequence) - share);
  }
  return Efficiency{.share = share, .origin = small->measured ? CostOrigin::kCatalogue : CostOrigin::kExtrapolated};
}

const ConstantTable& cost_constants() {
  static constexpr std::string_view kFile = "data/calibration/cost_constants.csv";
  static const ConstantTable table = ConstantTable::read(embedded_calibration(kFile), std::string(kFile)).value();
  return table;
}

Cost cost_of(double seconds, CostOrigin origin) {
  const auto& constants = cost_constants();
  const bool measured = origin == CostOrigin::kMeasured;
  const std::string band = origin == CostOrigin::kCatalogue ? "band.catalogue" : "band.extrapolated";
  const double below = constants.at(measured ? "band.measured" : band + ".below");
  const double above = constants.at(measured ? "band.measured" : band + ".above");
  const auto at_least_one = [](double s) { return std::max(Nanoseconds(1), from_seconds(s)); };
  // The bands are of rates: a rate lower by a third takes half as long again.
  return {.median = at_least_one(seconds),
          .low = at_least_one(seconds / (1.0 + above)),
          .high = at_least_one(seconds / (1.0 - below)),
          .origin = origin};
}

}  // namespace plimsoll
