#include "sim/stack/step_time.h"

#include <catch2/catch.hpp>

#include <string>

#include "formats/models/resolve_model.h"
#include "sim/cost/efficiencies.h"
#include "sim/stack/collective_seconds.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/kernel_seconds.h"

namespace plimsoll {
namespace {

GpuEntry gpu_named(std::string_view name) { return find_gpu(built_in_gpu_catalogue(), name).value(); }

/// A GPU of round numbers: 100 TFLOP/s of fp16, 1 TB/s for operands, 0.5 TB/s for streams, 1 us a start.
KernelRates round_rates() {
  KernelRates rates{.gpu = gpu_named("A100 40GB SXM4"), .nominal = {}, .products = {}};
  rates.products[DType::kFp16] = 100e12;
  rates.operands = 1e12;
  rates.streams = 0.5e12;
  rates.updates = 0.25e12;
  rates.startup = 1e-6;
  return rates;
}

StackKernel product(std::int64_t m, std::int64_t n, std::int64_t k, DType type = DType::kFp16) {
  const auto volume = static_cast<double>(m * n) * static_cast<double>(k);
  const auto elements = static_cast<double>(m * k + n * k + m * n);
  return {.sort = StackKernelSort::kProduct, .dtype = type, .m = m, .n = n, .k = k, .flops = 2 * volume,
          .bytes = elements * static_cast<double>(size_of(type))};
}

StackTime time_of(const std::string& model, const Recipe& recipe, const StackSetup& setup,
                  std::string_view gpu = "A100 40GB SXM4") {
  return predict_stack(resolve_model(model).value(), recipe, setup, gpu_named(gpu)).value().time;
}

Recipe recipe_of(std::int64_t batch, std::int64_t sequence, Precision precision) {
  Recipe recipe;
  recipe.micro_batch = batch;
  recipe.sequence = sequence;
  recipe.precision = precision;
  return with_optimizer(recipe, OptimizerKind::kAdamW);
}

}  // namespace

TEST_CASE("What a step takes of the rate of an architecture's matrix units it does not take of its vector units") {
  const GpuEntry gpu = gpu_named("H100 SXM5 80GB");
  const auto share = [&](DType type, DType measured) {
    const KernelRates rates = kernel_rates(gpu, {}, Precision::kFp32).value();
    return rates.products.at(type) / rates.nominal.at(type) / product_efficiency(gpu, measured)->share;
  };
  CHECK(share(DType::kBf16, DType::kBf16) == Approx(cost_constants().at("stack.product.datacenter.Hopper")));
  CHECK(share(DType::kFp32, DType::kFp32) == Approx(cost_constants().at("stack.product.datacenter")));
}

TEST_CASE("A kernel takes its start and the longer of arithmetic and traffic") {
  const KernelRates rates = round_rates();
  // 2 · 4096^3 = 137.44e9 FLOPs at 100e12/s: 1374.4 us; 3 · 4096^2 · 2 = 100.7e6 bytes at 1e12/s: 100.7 us.
  CHECK(kernel_seconds(product(4096, 4096, 4096), rates).value() == Approx(1375.4e-6).epsilon(1e-3));
  // One row: 2 · 4096^2 = 33.6e6 FLOPs: 0.34 us; (4096 + 4096^2 + 4096) · 2 = 33.57e6 bytes: 33.57 us.
  CHECK(kernel_seconds(product(1, 4096, 4096), rates).value() == Approx(34.57e-6).epsilon(1e-3));
  // 100e6 bytes: 200 us as a stream, 400 us as an update.
  CHECK(kernel_seconds({.sort = StackKernelSort::kStream, .bytes = 100e6}, rates).value() == Approx(201e-6));
  CHECK(kernel_seconds({.sort = StackKernelSort::kOptimizer, .bytes = 100e6}, rates).value() == Approx(401e-6));
}

TEST_CASE("A rate that nobody knows is an error that names GPU and type") {
  const auto refused = kernel_seconds(product(64, 64, 64, DType::kBf16),
                                      kernel_rates(gpu_named("RTX 2080 Ti"), {}, Precision::kBf16).value());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("RTX 2080 Ti") != std::string::npos);
  CHECK(refused.error().what.find("bf16") != std::string::npos);
}

TEST_CASE("fp16 without matrix units runs at the rate of fp32") {
  const KernelRates pascal = kernel_rates(gpu_named("GTX 1080 Ti"), {}, Precision::kFp16Mixed).value();
  CHECK(pascal.products.at(DType::kFp16) == Approx(pascal.products.at(DType::kFp32)));
}

TEST_CASE("TF32 shortens fp32 training where there are units for it, and nowhere else") {
  const Recipe plain = recipe_of(4, 1024, Precision::kFp32);
  const Recipe tf32 = recipe_of(4, 1024, Precision::kTf32);
  CHECK(time_of("gpt2", tf32, {}).step < 0.6 * time_of("gpt2", plain, {}).step);
  CHECK(time_of("gpt2", tf32, {}, "RTX 2080 Ti").step == Approx(time_of("gpt2", plain, {}, "RTX 2080 Ti").step));
}

TEST_CASE("A phase lasts as long as the slower of GPU and host") {
  StackSetup setup;
  const GpuEntry gpu = gpu_named("A100 40GB SXM4");
  const std::vector<StackKernel> tiny(1000, StackKernel{.sort = StackKernelSort::kStream, .phase = Phase::kForward, .bytes = 8});
  const double eager = step_time(tiny, setup, Precision::kFp32, gpu).value().forward;
  setup.compile = true;
  const double compiled = step_time(tiny, setup, Precision::kFp32, gpu).value().forward;
  const double alone = 1000 * kernel_seconds(tiny.front(), kernel_rates(gpu, setup, Precision::kFp32).value()).value();
  CHECK(eager > compiled);
  CHECK(compiled >= alone);
  // Large kernels hide the host: twice as many take twice as long.
  const StackKernel large{.sort = StackKernelSort::kStream, .phase = Phase::kForward, .bytes = 1e9};
  const double one = step_time({large}, setup, Precision::kFp32, gpu).value().forward;
  CHECK(step_time({large, large}, setup, Precision::kFp32, gpu).value().forward == Approx(2 * one));
}

TEST_CASE("Of collectives a phase shows what its kernels do not hide, and the last one") {
  const GpuEntry gpu = gpu_named("A100 40GB SXM4");
  const StackKernel kernel{.sort = StackKernelSort::kStream, .phase = Phase::kBackward, .bytes = 100e9};
  const StackKernel bucket{.sort = StackKernelSort::kCollective, .phase = Phase::kBackward, .bytes = 25e6};
  const double alone = step_time({kernel}, {}, Precision::kFp32, gpu).value().step;
  const StackTime hidden = step_time({kernel, bucket, bucket, bucket}, {}, Precision::kFp32, gpu).value();
  CHECK(hidden.step == Approx(alone + collective_seconds(25e6, gpu)));
  CHECK(hidden.exposed_communication == Approx(collective_seconds(25e6, gpu)));
  const StackKernel huge{.sort = StackKernelSort::kCollective, .phase = Phase::kBackward, .bytes = 1e12};
  CHECK(step_time({kernel, huge, bucket}, {}, Precision::kFp32, gpu).value().step ==
        Approx(collective_seconds(1e12, gpu) + collective_seconds(25e6, gpu)));
}

TEST_CASE("Modules with NVLink send faster than boards on PCIe, and a later PCIe faster than an earlier one") {
  CHECK(ring_rate(gpu_named("H100 SXM5 80GB")) > ring_rate(gpu_named("A100 40GB SXM4")));
  CHECK(ring_rate(gpu_named("A100 40GB SXM4")) > 5 * ring_rate(gpu_named("A100 40GB PCIe")));
  CHECK(ring_rate(gpu_named("RTX A6000")) > ring_rate(gpu_named("RTX 3090")));  // from board to board, and through the host
  CHECK(ring_rate(gpu_named("RTX 3090")) == Approx(2 * ring_rate(gpu_named("RTX 2080 Ti"))));  // PCIe 4.0 and 3.0
}

TEST_CASE("More sequences, longer ones and checkpoints take longer") {
  StackSetup setup;
  double before = 0;
  for (const std::int64_t batch : {1, 2, 4, 8, 16}) {
    const double seconds = time_of("gpt2", recipe_of(batch, 1024, Precision::kBf16Mixed), setup).step;
    CHECK(seconds > before);
    before = seconds;
  }
  const double half = time_of("gpt2", recipe_of(8, 512, Precision::kBf16Mixed), setup).step;
  CHECK(half < time_of("gpt2", recipe_of(8, 1024, Precision::kBf16Mixed), setup).step);
  const double whole = time_of("gpt2", recipe_of(8, 1024, Precision::kBf16Mixed), setup).step;
  setup.recomputation = Recomputation::kFull;
  CHECK(time_of("gpt2", recipe_of(8, 1024, Precision::kBf16Mixed), setup).step > 1.15 * whole);
}

TEST_CASE("A step's interval holds the step and is wider where the GPU was not measured") {
  const Recipe recipe = recipe_of(4, 512, Precision::kFp16Mixed);
  const StackTime known = time_of("gpt2", recipe, {}, "RTX 3090");
  CHECK(known.low < known.step);
  CHECK(known.step < known.high);
  const StackTime unknown = time_of("gpt2", recipe, {}, "RTX 2060 6GB");
  CHECK(unknown.high / unknown.step > known.high / known.step);
}

TEST_CASE("Kernels of 2020 take longer than today's") {
  StackSetup legacy;
  legacy.legacy_kernels = true;
  const Recipe recipe = recipe_of(8, 512, Precision::kFp16Mixed);
  CHECK(time_of("bert-base-uncased", recipe, legacy).step > 1.1 * time_of("bert-base-uncased", recipe, {}).step);
}

TEST_CASE("Modules in two bytes beside fp32 copies are faster than autocast") {
  StackSetup half;
  half.half_weights = true;
  const Recipe recipe = recipe_of(8, 512, Precision::kFp16Mixed);
  CHECK(time_of("bert-base-uncased", recipe, half).step < time_of("bert-base-uncased", recipe, {}).step);
}

}  // namespace plimsoll
