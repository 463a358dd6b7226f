#include <catch2/catch.hpp>

#include <string_view>

#include "formats/models/resolve_model.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/kernel_seconds.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

GpuEntry gpu_named(std::string_view name) { return find_gpu(built_in_gpu_catalogue(), name).value(); }

/// 200 TFLOP/s of fp16 and 10 of fp32, operands and starts for nothing.
KernelRates round_rates(std::string_view gpu) {
  KernelRates rates{.gpu = gpu_named(gpu), .nominal = {}, .products = {}};
  rates.products[DType::kFp16] = 200e12;
  rates.products[DType::kFp32] = 10e12;
  rates.operands = 1e18;
  rates.updates = 1e12;
  return rates;
}

StackKernel product(std::int64_t m, std::int64_t n, std::int64_t k, DType type = DType::kFp16) {
  return {.sort = StackKernelSort::kProduct, .dtype = type, .m = m, .n = n, .k = k,
          .flops = 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
}

/// TFLOP/s that a product is told with.
double rate_of(const StackKernel& kernel, const KernelRates& rates) { return kernel.flops / kernel_seconds(kernel, rates).value() / 1e12; }

StackKernel turned(StackKernel kernel) {
  kernel.turned = true;
  return kernel;
}

double step_of(std::int64_t vocabulary, const StackSetup& setup, std::string_view gpu) {
  ModelSpec spec = resolve_model("gpt2").value();
  spec.vocabulary = vocabulary;
  Recipe recipe;
  recipe.micro_batch = 8;
  recipe.sequence = 1024;
  recipe.precision = Precision::kFp16Mixed;
  return predict_stack(spec, with_optimizer(recipe, OptimizerKind::kAdamW), setup, gpu_named(gpu)).value().time.step;
}

}  // namespace

TEST_CASE("Rows of an odd number of halves are loaded one by one, of an even number two by two, whatever the matrix units could") {
  const KernelRates rates = round_rates("A100 40GB SXM4");
  // 19.5 TFLOP/s of fp32 are 152.34e9 clocks a second of 108 multiprocessors with 64 lanes: 482 and 1013 FLOP a clock.
  CHECK(rate_of(product(8192, 51137, 14336), rates) == Approx(73.43).epsilon(1e-3));
  CHECK(rate_of(product(8192, 51138, 14336), rates) == Approx(154.3).epsilon(1e-3));
  CHECK(rate_of(product(8192, 51140, 14336), rates) == Approx(154.3).epsilon(1e-3));
  CHECK(rate_of(product(8192, 51144, 14336), rates) == Approx(200));
  CHECK(rate_of(product(8192, 51200, 14337), rates) == Approx(73.43).epsilon(1e-3));
  // The number of rows is free: a weight's gradient sums over tokens, of which its operands have a row each.
  CHECK(rate_of(product(8191, 51200, 14336), rates) == Approx(200));
  CHECK(rate_of(turned(product(51200, 14336, 8191)), rates) == Approx(200));
  CHECK(rate_of(turned(product(51137, 14336, 8192)), rates) == Approx(73.43).epsilon(1e-3));
}

TEST_CASE("Uneven rows slow no unit that is slower anyway: fp32's, half-rate matrix units, convolutions, another maker's") {
  KernelRates rates = round_rates("A100 40GB SXM4");
  CHECK(rate_of(product(4096, 4095, 4096, DType::kFp32), rates) == Approx(10));
  StackKernel convolution = product(4096, 4095, 4096);
  convolution.sort = StackKernelSort::kConvolution;
  CHECK(rate_of(convolution, rates) == Approx(200));
  CHECK(rate_of(product(4096, 4095, 4096), round_rates("MI300X")) == Approx(200));
  // 35.58 TFLOP/s of fp32, 128 lanes: 138.98e9 clocks, 67.0 TFLOP/s of the 71.2 that its matrix units have.
  CHECK(rate_of(product(4096, 4095, 4096), round_rates("RTX 3090")) == Approx(66.99).epsilon(1e-3));
  rates.products[DType::kFp16] = 50e12;
  CHECK(rate_of(product(4096, 4095, 4096), rates) == Approx(50));
}

TEST_CASE("cuBLAS before 11 takes matrix units for sizes that are all multiples of 8, else fp32's") {
  KernelRates rates = round_rates("V100 SXM2 32GB");
  rates.whole_rows_only = true;
  CHECK(rate_of(product(4096, 4096, 4096), rates) == Approx(200));
  for (const StackKernel& kernel : {product(4095, 4096, 4096), product(4096, 4092, 4096), product(4096, 4096, 4097)}) {
    CHECK(rate_of(kernel, rates) == Approx(10));
  }
  StackSetup setup;
  CHECK_FALSE(kernel_rates(gpu_named("V100 SXM2 32GB"), setup, Precision::kFp16Mixed)->whole_rows_only);
  setup.older_cublas = true;
  CHECK(kernel_rates(gpu_named("V100 SXM2 32GB"), setup, Precision::kFp16Mixed)->whole_rows_only);
  CHECK(kernel_rates(gpu_named("RTX 2080 Ti"), setup, Precision::kFp16Mixed)->whole_rows_only);
  CHECK_FALSE(kernel_rates(gpu_named("A100 40GB SXM4"), setup, Precision::kFp16Mixed)->whole_rows_only);
  CHECK_FALSE(kernel_rates(gpu_named("GTX 1080 Ti"), setup, Precision::kFp16Mixed)->whole_rows_only);
}

TEST_CASE("A compiler copies uneven operands into longer rows where that is faster") {
  KernelRates rates = round_rates("A100 40GB SXM4");
  rates.pads_rows = true;
  // 2 · 4096 · 4095 · 4096 FLOPs at 200e12/s are 687.0 us; of 4096 · 4095 halves read and written 67.1 us.
  CHECK(kernel_seconds(product(4096, 4095, 4096), rates).value() == Approx((687.0 + 67.1) * 1e-6).epsilon(1e-3));
  CHECK(kernel_seconds(product(4096, 4096, 4096), rates).value() == Approx(687.2e-6).epsilon(1e-3));
  // Few rows: the copy of 4096 · 4095 halves is dearer than 8 rows one number at a time.
  CHECK(kernel_seconds(product(8, 4095, 4096), rates).value() == Approx(2 * 8.0 * 4095 * 4096 / 73.43e12).epsilon(1e-3));
}

TEST_CASE("GPT-2's 50,257 words cost an A100 more than 50,304, a compiler that fills them up less, half-rate matrix units hardly") {
  CHECK(step_of(50257, {}, "A100 40GB SXM4") > 1.1 * step_of(50304, {}, "A100 40GB SXM4"));
  CHECK(step_of(50257, {}, "RTX 3090") < 1.04 * step_of(50304, {}, "RTX 3090"));
  StackSetup compiled;
  compiled.compile = true;
  compiled.older_inductor = true;
  CHECK(step_of(50257, compiled, "A100 40GB SXM4") > 1.2 * step_of(50304, compiled, "A100 40GB SXM4"));
  compiled.older_inductor = false;
  CHECK(step_of(50257, compiled, "A100 40GB SXM4") < 1.1 * step_of(50304, compiled, "A100 40GB SXM4"));
}

}  // namespace plimsoll
