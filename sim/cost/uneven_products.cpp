#include "sim/cost/uneven_products.h"

#include <algorithm>
#include <charconv>

#include "sim/cost/efficiencies.h"

namespace plimsoll {
namespace {

constexpr double kTera = 1e12;

/// 7.5 is 75; 0 where a maker counts otherwise.
int capability_of(const GpuEntry& gpu) {
  const std::string& text = gpu.compute_capability;
  const std::size_t point = text.find('.');
  int major = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(point, text.size()), major);
  if (point == std::string::npos || error != std::errc() || end != text.data() + point || point + 1 >= text.size()) return 0;
  return 10 * major + (text[point + 1] - '0');
}

/// Clocks a second of all multiprocessors, by the rate of their vector units: 64 sums of products a clock up to the A100, 128 since.
double multiprocessor_clocks(const GpuEntry& gpu) {
  constexpr int kA100 = 80;
  const double lanes = capability_of(gpu) <= kA100 ? 64 : 128;
  return gpu.fp32_tflops.value_or(0) * kTera / (2 * lanes);
}

}  // namespace

RowUnit row_unit(std::int64_t numbers) {
  if (numbers % 8 == 0) return RowUnit::kWhole;
  return numbers % 2 == 0 ? RowUnit::kEven : RowUnit::kOdd;
}

RowUnit row_unit(std::int64_t numbers, std::int64_t others) { return std::max(row_unit(numbers), row_unit(others)); }

bool has_cublas_matrix_units(const GpuEntry& gpu) {
  constexpr int kVolta = 70;
  return gpu.fp16_tflops.has_value() && gpu.fp32_tflops.has_value() && capability_of(gpu) >= kVolta;
}

std::optional<double> uneven_product_flops(const GpuEntry& gpu, RowUnit unit) {
  if (unit == RowUnit::kWhole || !has_cublas_matrix_units(gpu)) return {};
  return cost_constants().at(unit == RowUnit::kOdd ? "product.odd_rows" : "product.even_rows") * multiprocessor_clocks(gpu);
}

}  // namespace plimsoll
