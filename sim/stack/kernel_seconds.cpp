#include "sim/stack/kernel_seconds.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/efficiencies.h"
#include "sim/cost/uneven_products.h"

namespace plimsoll {
namespace {

Result<double> arithmetic_seconds(const StackKernel& kernel, double flops_per_second, const KernelRates& rates) {
  return rates.startup + std::max(kernel.flops / flops_per_second, kernel.bytes / rates.operands);
}

tl::unexpected<Error> unknown_rate(std::string_view what, const StackKernel& kernel, const KernelRates& rates) {
  return fail({.kind = ErrorKind::kUncalibrated,
               .what = fmt::format("{} has no known rate of {} in {}", rates.gpu.name, what, to_text(kernel.dtype)),
               .where = {},
               .remedy = "choose another precision"});
}

/// Rows as they lie in memory: those of the right operand and the result have n numbers, those of the left one k, or m where it is
/// turned.
RowUnit rows_of(const StackKernel& kernel) { return row_unit(kernel.n, kernel.turned ? kernel.m : kernel.k); }

bool has_whole_sizes(const StackKernel& kernel) {
  return row_unit(kernel.m, kernel.n) == RowUnit::kWhole && row_unit(kernel.k) == RowUnit::kWhole;
}

/// FLOP/s of a product of two-byte numbers without a compiler's help; `even`: with whole rows.
double uneven_flops(const StackKernel& kernel, double even, const KernelRates& rates) {
  if (rates.whole_rows_only) {
    const auto vectors = rates.products.find(DType::kFp32);
    const bool leaves = !has_whole_sizes(kernel) && vectors != rates.products.end();
    return leaves ? std::min(even, vectors->second) : even;
  }
  return std::min(even, uneven_product_flops(rates.gpu, rows_of(kernel)).value_or(even));
}

/// What operands of uneven sizes take to be copied into longer rows.
double padding_seconds(const StackKernel& kernel, const KernelRates& rates) {
  const auto is_whole = [](std::int64_t rows, std::int64_t columns) { return row_unit(rows, columns) == RowUnit::kWhole; };
  const auto numbers = [&](std::int64_t rows, std::int64_t columns) {
    return is_whole(rows, columns) ? 0.0 : static_cast<double>(kernel.batch) * static_cast<double>(rows) * static_cast<double>(columns);
  };
  const double copied = (numbers(kernel.m, kernel.k) + numbers(kernel.k, kernel.n)) * static_cast<double>(size_of(kernel.dtype));
  return rates.startup + 2 * copied / rates.updates;
}

Result<double> product_seconds(const StackKernel& kernel, const KernelRates& rates) {
  const auto rate = rates.products.find(kernel.dtype);
  if (rate == rates.products.end()) return unknown_rate("products", kernel, rates);
  const auto even = arithmetic_seconds(kernel, rate->second, rates);
  if (!even || kernel.sort != StackKernelSort::kProduct || size_of(kernel.dtype) != 2) return even;
  const auto uneven = arithmetic_seconds(kernel, uneven_flops(kernel, rate->second, rates), rates);
  if (!uneven || !rates.pads_rows) return uneven;
  return std::min(*uneven, *even + padding_seconds(kernel, rates));
}

Result<double> attention_seconds(const StackKernel& kernel, const KernelRates& rates) {
  const auto nominal = rates.nominal.find(kernel.dtype);
  const auto alone = attention_efficiency(rates.gpu, kernel.dtype, kernel.m, kernel.k, kernel.backward, rates.attention);
  if (nominal == rates.nominal.end() || !alone) return unknown_rate("attention", kernel, rates);
  return arithmetic_seconds(kernel, nominal->second * alone->share * rates.attention_share, rates);
}

/// A thread loads one number at a time, so that numbers of four bytes bring twice as many, up to what copies reach.
double norm_seconds(const StackKernel& kernel, const KernelRates& rates) {
  constexpr double kMeasuredBytes = 2;
  const double share = std::min(1.0, rates.norm_share * static_cast<double>(size_of(kernel.dtype)) / kMeasuredBytes);
  return rates.startup + kernel.bytes / (rates.norms * share);
}

/// Without matrix units of the type nothing is turned.
double relayout_seconds(const StackKernel& kernel, const KernelRates& rates) {
  const auto& units = kernel.dtype == DType::kBf16 ? rates.gpu.bf16_tflops : rates.gpu.fp16_tflops;
  return units ? rates.startup + kernel.bytes / rates.relayouts : 0;
}

}  // namespace

Result<double> kernel_seconds(const StackKernel& kernel, const KernelRates& rates) {
  switch (kernel.sort) {
    case StackKernelSort::kProduct:
    case StackKernelSort::kConvolution: return product_seconds(kernel, rates);
    case StackKernelSort::kAttention: return attention_seconds(kernel, rates);
    case StackKernelSort::kPlanes: return rates.startup + kernel.bytes / rates.planes;
    case StackKernelSort::kBatchNorm: return norm_seconds(kernel, rates);
    case StackKernelSort::kRelayout: return relayout_seconds(kernel, rates);
    case StackKernelSort::kOptimizer:
    case StackKernelSort::kPass: return rates.startup + kernel.bytes / rates.updates;
    default: return rates.startup + kernel.bytes / rates.streams;
  }
}

}  // namespace plimsoll
