#include "sim/stack/kernel_seconds.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/efficiencies.h"

namespace plimsoll {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

std::optional<double> nominal_tflops(const GpuEntry& gpu, DType dtype, bool tf32) {
  switch (dtype) {
    case DType::kFp16: return gpu.fp16_tflops;
    case DType::kBf16: return gpu.bf16_tflops;
    case DType::kFp64: return gpu.fp64_tflops;
    default: return tf32 && gpu.tf32_tflops ? gpu.tf32_tflops : gpu.fp32_tflops;
  }
}

double step_share(const GpuEntry& gpu) {
  const std::string sort = fmt::format("step.{}", to_text(gpu.board));
  const std::string own = fmt::format("{}.{}", sort, gpu.architecture);
  return cost_constants().at(cost_constants().has(own) ? own : sort);
}

std::optional<double> arithmetic_share(const StackKernel& kernel, const GpuEntry& gpu) {
  if (kernel.sort == StackKernelSort::kAttention) {
    const auto found = attention_efficiency(gpu, kernel.dtype, kernel.m, kernel.k, kernel.backward);
    return found ? std::optional(found->share) : std::nullopt;
  }
  const auto found = product_efficiency(gpu, kernel.dtype);
  return found ? std::optional(found->share * step_share(gpu)) : std::nullopt;
}

bool is_arithmetic(StackKernelSort sort) {
  return sort == StackKernelSort::kProduct || sort == StackKernelSort::kAttention || sort == StackKernelSort::kConvolution;
}

}  // namespace

Result<double> kernel_seconds(const StackKernel& kernel, const GpuEntry& gpu, bool tf32) {
  const double startup = cost_constants().at("kernel.startup") * kMicro;
  if (gpu.memory_gbs <= 0) {
    return fail({.kind = ErrorKind::kUncalibrated, .what = fmt::format("the memory bandwidth of {} is unknown", gpu.name), .where = {}, .remedy = {}});
  }
  if (!is_arithmetic(kernel.sort)) {
    return startup + kernel.bytes / (memory_efficiency(gpu).share * gpu.memory_gbs * kGiga);
  }
  const auto peak = nominal_tflops(gpu, kernel.dtype, tf32);
  const auto share = arithmetic_share(kernel, gpu);
  if (!peak || !share) {
    return fail({.kind = ErrorKind::kUncalibrated,
                 .what = fmt::format("{} has no known rate of products in {}", gpu.name, to_text(kernel.dtype)),
                 .where = {},
                 .remedy = "choose another precision"});
  }
  const double traffic = kernel.bytes / (cost_constants().at("memory.product") * gpu.memory_gbs * kGiga);
  return startup + std::max(kernel.flops / (*share * *peak * kTera), traffic);
}

}  // namespace plimsoll
