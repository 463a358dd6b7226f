#include "sim/stack/kernel_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/cost/efficiencies.h"
#include "sim/cost/uneven_products.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

double constant(std::string_view key) { return cost_constants().at(key); }

/// The share of their rate alone that products keep in a step. An architecture's own ("stack.product.datacenter.Hopper") is of
/// its matrix units, whose power sets the clock; products in fp32 are the vector units'.
double product_share(const GpuEntry& gpu, DType measured) {
  const std::string sort = fmt::format("stack.product.{}", to_text(gpu.board));
  const std::string own = fmt::format("{}.{}", sort, gpu.architecture);
  return constant(measured != DType::kFp32 && cost_constants().has(own) ? own : sort);
}

/// The units that compute products of a type, and the type under which they were measured.
struct Units {
  std::optional<double> tflops;
  DType measured = DType::kFp32;
};

/// fp16 on a GPU without units for it is widened, and TF32 there is fp32; bf16 has no such way.
Units units_of(const GpuEntry& gpu, DType type, Precision precision) {
  if (type == DType::kBf16) return {gpu.bf16_tflops, DType::kBf16};
  if (type == DType::kFp16 && gpu.fp16_tflops) return {gpu.fp16_tflops, DType::kFp16};
  const bool tf32 = type == DType::kFp32 && precision == Precision::kTf32 && gpu.tf32_tflops;
  return tf32 ? Units{gpu.tf32_tflops, DType::kTf32} : Units{gpu.fp32_tflops, DType::kFp32};
}

void set_products(KernelRates& rates, const GpuEntry& gpu, Precision precision) {
  for (const DType type : {DType::kFp32, DType::kFp16, DType::kBf16}) {
    const Units units = units_of(gpu, type, precision);
    const auto alone = product_efficiency(gpu, units.measured);
    if (!units.tflops || !alone) continue;
    rates.nominal[type] = *units.tflops * kTera;
    const double share = alone->share * product_share(gpu, units.measured);
    rates.products[type] = *units.tflops * kTera * std::min(share, sustained_share(gpu.name, units.measured).value_or(share));
  }
}

/// Matrix units at their narrowest draw no less power than with bf16: the same share is left in a step.
void set_fp8(KernelRates& rates, const GpuEntry& gpu) {
  const auto alone = fp8_efficiency(gpu);
  if (!gpu.fp8_tflops || !alone) return;
  rates.nominal[kFp8Type] = *gpu.fp8_tflops * kTera;
  const double share = alone->share * product_share(gpu, DType::kBf16);
  rates.products[kFp8Type] = *gpu.fp8_tflops * kTera * std::min(share, sustained_share(gpu.name, kFp8Type).value_or(share));
}

/// A compiler writes norms of its own, which read as copies do.
void set_planes(KernelRates& rates, const StackSetup& setup, double copies) {
  rates.norms = copies * constant("stack.planes");
  rates.planes = rates.norms / (setup.compile ? constant("stack.compiled.traffic") : 1);
  rates.norm_share = setup.compile ? 1 : constant("stack.batch_norm");
  rates.relayouts = copies * constant("stack.relayout");
}

}  // namespace

bool takes_cudnn(const StackSetup& setup, const GpuEntry& gpu) {
  if (setup.attention) return *setup.attention == AttentionKernel::kCudnn;
  constexpr std::array kCallers{ModuleStyle::kHuggingFace, ModuleStyle::kNanoGpt, ModuleStyle::kTorchTune, ModuleStyle::kLitGpt, ModuleStyle::kTimm};
  const bool calls = std::find(kCallers.begin(), kCallers.end(), setup.modules) != kCallers.end();
  return calls && setup.stack != Stack::kMegatron && !setup.older_sdpa && !setup.flash3 && gpu.compute_capability == "9.0";
}

std::string fp8_assumption(const GpuEntry& gpu) {
  const auto alone = fp8_efficiency(gpu);
  return fmt::format("linear layers of the blocks multiply in fp8, which alone reaches {:.0f} % of the nominal {:.0f} TFLOP/s (an extrapolation: "
                     "one shape a board was measured); attention, router, embedding and head stay in two bytes",
                     100 * (alone ? alone->share : 0), gpu.fp8_tflops.value_or(0));
}

Result<KernelRates> kernel_rates(const GpuEntry& gpu, const StackSetup& setup, Precision precision) {
  if (gpu.memory_gbs <= 0) {
    return fail({.kind = ErrorKind::kUncalibrated,
                 .what = fmt::format("the memory bandwidth of {} is unknown", gpu.name),
                 .where = {},
                 .remedy = "choose a GPU whose bandwidth stands in data/platforms/gpus.csv"});
  }
  KernelRates rates{.gpu = gpu, .nominal = {}, .products = {}};
  const bool engine = setup.stack == Stack::kMegatron && setup.transformer_engine;
  if (engine || takes_cudnn(setup, gpu)) rates.attention = FusedAttention::kCudnn;
  if (setup.flash3) rates.attention = FusedAttention::kFlash3;
  rates.attention_share = constant(setup.modules == ModuleStyle::kMosaic ? "stack.attention.mosaic" : "stack.attention");
  rates.operands = constant("memory.product") * gpu.memory_gbs * kGiga;
  set_products(rates, gpu, precision);
  if (setup.fp8.exists()) set_fp8(rates, gpu);
  const double copies = memory_efficiency(gpu).share * gpu.memory_gbs * kGiga;
  rates.updates = copies * constant("stack.memory");
  const double legacy = setup.legacy_kernels ? constant("stack.legacy.memory") : 1;
  rates.streams = rates.updates * legacy / (setup.compile ? constant("stack.compiled.traffic") : 1);
  set_planes(rates, setup, copies * legacy);
  rates.startup = constant("kernel.startup") * kMicro;
  // Boards that are newer than CUDA 10 were never served by its cuBLAS.
  rates.whole_rows_only = setup.older_cublas && has_cublas_matrix_units(gpu) && gpu.compute_capability.front() == '7';
  rates.pads_rows = setup.compile && !setup.older_inductor;
  return rates;
}

}  // namespace plimsoll
