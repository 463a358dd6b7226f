#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/kernel_seconds.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/tape/convolutions.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {
namespace {

GpuEntry gpu_named(std::string_view name) { return find_gpu(built_in_gpu_catalogue(), name).value(); }

Recipe images(std::int64_t count, Precision precision) {
  Recipe recipe;
  recipe.micro_batch = count;
  recipe.precision = precision;
  return with_optimizer(recipe, OptimizerKind::kMomentum);
}

StackSetup vision(bool channels_last) {
  StackSetup setup{.modules = ModuleStyle::kTorchVision};
  setup.channels_last = channels_last;
  return setup;
}

std::int64_t count(const std::string& model, Precision precision, const StackSetup& setup, StackKernelSort sort) {
  const StackRun run = run_stack(resolve_model(model).value(), images(2, precision), setup, gpu_named("A100 40GB SXM4")).value();
  return std::count_if(run.kernels.begin(), run.kernels.end(), [&](const StackKernel& kernel) { return kernel.sort == sort; });
}

StackTime time_of(const std::string& model, const Recipe& recipe, bool channels_last) {
  return predict_stack(resolve_model(model).value(), recipe, vision(channels_last), gpu_named("A100 40GB SXM4")).value().time;
}

}  // namespace

TEST_CASE("Convolutions in two bytes turn planes into pixels and back, but for those of one pixel") {
  constexpr auto kRelayout = StackKernelSort::kRelayout;
  // 3x3, the first of 7x7, 1x1 with a stride: forward and twice backward, but nobody asks for the image's gradient.
  CHECK(count("resnet50", Precision::kFp16Mixed, vision(false), kRelayout) == (16 + 1 + 3) * 3 - 1);
  CHECK(count("vgg16", Precision::kBf16Mixed, vision(false), kRelayout) == 13 * 3 - 1);
  CHECK(count("resnet50", Precision::kFp32, vision(false), kRelayout) == 0);
  CHECK(count("resnet50", Precision::kFp16Mixed, vision(true), kRelayout) == 0);
  StackSetup compiled = vision(false);
  compiled.compile = true;
  CHECK(count("resnet50", Precision::kFp16Mixed, compiled, kRelayout) == 0);
}

TEST_CASE("A convolution's bias is a pass of its own over what was written") {
  const auto bytes_of = [](bool with_bias) {
    Tape tape;
    const Tensor x = tape.empty({2, 8, 4, 4}, DType::kFp32);
    Weights weights{.weight = &tape.parameter("weight", {16, 8}, DType::kFp32)};
    if (with_bias) weights.bias = &tape.parameter("bias", {16}, DType::kFp32);
    convolution(tape, x, weights, {.inputs_per_output = 8, .made = {2, 16, 4, 4}});
    double bytes = 0;
    for (const StackKernel& kernel : tape.kernels()) bytes += kernel.bytes;
    return bytes;
  };
  CHECK(bytes_of(true) - bytes_of(false) == 2.0 * 2 * 16 * 4 * 4 * 4);
}

TEST_CASE("A norm of maps walks over planes, or streams over pixels") {
  CHECK(count("resnet50", Precision::kFp32, vision(false), StackKernelSort::kBatchNorm) == 2 * 53);
  CHECK(count("resnet50", Precision::kFp32, vision(true), StackKernelSort::kBatchNorm) == 0);
  CHECK(count("resnet50", Precision::kFp32, vision(true), StackKernelSort::kStream) == 0);
}

TEST_CASE("A compiler merges what lies between norms, and leaves their passes") {
  StackSetup compiled = vision(false);
  compiled.compile = true;
  CHECK(count("resnet50", Precision::kFp16Mixed, compiled, StackKernelSort::kBatchNorm) == 2 * 53);
  const KernelRates eager = kernel_rates(gpu_named("RTX 3090"), {}, Precision::kFp16Mixed).value();
  const KernelRates merged = kernel_rates(gpu_named("RTX 3090"), compiled, Precision::kFp16Mixed).value();
  CHECK(merged.planes > eager.planes);
  CHECK(merged.norms == eager.norms);
  CHECK(merged.norm_share == 1);
}

TEST_CASE("Numbers of two bytes bring a norm over planes half as far as those of four, which go no faster than copies") {
  KernelRates rates{.gpu = gpu_named("A100 40GB SXM4"), .nominal = {}, .products = {}};
  rates.norms = 1e12;
  rates.norm_share = 0.4;
  StackKernel norm{.sort = StackKernelSort::kBatchNorm, .dtype = DType::kFp16, .bytes = 1e12};
  CHECK(kernel_seconds(norm, rates).value() == Approx(1 / 0.4));
  norm.dtype = DType::kFp32;
  CHECK(kernel_seconds(norm, rates).value() == Approx(1 / 0.8));
  rates.norm_share = 0.7;
  CHECK(kernel_seconds(norm, rates).value() == Approx(1));
}

TEST_CASE("Without matrix units of a type nothing is turned") {
  KernelRates rates{.gpu = gpu_named("RTX 3090"), .nominal = {}, .products = {}};
  rates.relayouts = 1e12;
  const StackKernel turn{.sort = StackKernelSort::kRelayout, .dtype = DType::kBf16, .bytes = 1e12};
  CHECK(kernel_seconds(turn, rates).value() == Approx(1));
  rates.gpu = gpu_named("RTX 2080 Ti");
  CHECK(kernel_seconds(turn, rates).value() == 0);
}

TEST_CASE("ResNet-50 takes on an A100 what PyTorch's own profile measured, in planes and in pixels") {
  // 1590.6 and 2385.8 images a second without an update (apuaaChen/EVT_AE, benchmark/resnet/benchmarking_results.json), whose
  // profiles the constants are from.
  const Recipe recipe = images(128, Precision::kFp16Mixed);
  const StackTime planes = time_of("resnet50", recipe, false), pixels = time_of("resnet50", recipe, true);
  CHECK(planes.forward + planes.backward == Approx(128 / 1590.58).epsilon(0.05));
  CHECK(pixels.forward + pixels.backward == Approx(128 / 2385.84).epsilon(0.05));
}

TEST_CASE("How maps are stored changes no memory") {
  const auto needed = [](bool channels_last) {
    return predict_stack(resolve_model("densenet121").value(), images(8, Precision::kFp16Mixed), vision(channels_last), gpu_named("T4"))
        .value()
        .peak.allocated;
  };
  CHECK(needed(true) == needed(false));
}

}  // namespace plimsoll
