#include "sim/stack/kernel_seconds.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/efficiencies.h"

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

Result<double> product_seconds(const StackKernel& kernel, const KernelRates& rates) {
  const auto rate = rates.products.find(kernel.dtype);
  if (rate == rates.products.end()) return unknown_rate("products", kernel, rates);
  return arithmetic_seconds(kernel, rate->second, rates);
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
    case StackKernelSort::kQuantize: return rates.startup + kernel.bytes / rates.updates;
    default: return rates.startup + kernel.bytes / rates.streams;
  }
}

}  // namespace plimsoll
