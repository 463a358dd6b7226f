#include "sim/stack/check_fp8.h"

#include <fmt/format.h>

#include "sim/stack/check_adapters.h"

namespace plimsoll {
namespace {

/// Transformer Engine's and cuBLASLt's rule for operands of 8 bits: widths in 16s, rows in 8s.
constexpr std::int64_t kWidthStep = 16;
constexpr std::int64_t kRowStep = 8;

tl::unexpected<Error> refused(std::string what, std::string remedy, std::string where = "--fp8") {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

Result<void> check_program(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const bool has_it = setup.stack == Stack::kPytorch || setup.stack == Stack::kDeepspeed || setup.stack == Stack::kMegatron;
  if (!has_it || !setup.transformer_engine) return refused("products in fp8 are Transformer Engine's and torchao's", "take --stack pytorch, deepspeed or megatron");
  if (size_of(compute_dtype(recipe.precision)) != 2) {
    return refused(fmt::format("beside fp8 the rest computes in two bytes, not in {}", to_text(recipe.precision)), "take --precision bf16-mixed");
  }
  if (is_encoded(recipe.adapter)) return refused("a base of 4 or 8 bits is decoded for its products, which are not in fp8", "leave --base-bits or --fp8 out");
  if (spec.is_conv_net()) return refused("convolutions are not computed in fp8", "leave it out");
  if (setup.modules == ModuleStyle::kTorchTune && setup.fp8.scaling == Fp8Scaling::kDelayed) {
    return refused("torchtune and torchtitan scale by the present values (torchao)", "take --fp8 current");
  }
  if (setup.fp8.parameters && !cuts_layers(setup)) return refused("weights in fp8 are Megatron's (--fp8-param-gather)", "add --stack megatron", "--fp8-params");
  return {};
}

Result<void> check_ends(const ModelSpec& spec, const StackSetup& setup) {
  if (setup.fp8.wide_ends == 0) return {};
  if (spec.has_encoder_and_decoder()) return refused("an encoder and a decoder have no first and last block in common", "leave it out", "--fp8-wide-ends");
  if (2 * setup.fp8.wide_ends < spec.layers) return {};
  return refused(fmt::format("of {} blocks none is left for fp8", spec.layers), "keep fewer in bf16, or leave --fp8 out", "--fp8-wide-ends");
}

Result<void> check_sizes(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  for (const std::int64_t width : {spec.hidden, spec.attention_width() / setup.tensor_ranks, spec.qkv_width() / setup.tensor_ranks,
                                   (spec.experts.count > 0 ? spec.expert_width() : spec.ffn) / setup.tensor_ranks}) {
    if (width % kWidthStep != 0) return refused(fmt::format("a linear layer is {} wide, and operands in fp8 are multiples of {}", width, kWidthStep), "leave it out");
  }
  const std::int64_t tokens = spec.reads_images() ? spec.image.patches() + 1 : recipe.sequence;
  const std::int64_t rows = recipe.micro_batch * tokens / setup.context_ranks;
  if (rows % kRowStep == 0) return {};
  return refused(fmt::format("{} tokens of a micro-batch are no multiple of {}, as operands in fp8 are", rows, kRowStep), "choose another --batch or --seq");
}

}  // namespace

Result<void> check_fp8(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (!setup.fp8.exists()) return {};
  if (!gpu.fp8_tflops) {
    return refused(fmt::format("{} has no matrix units for fp8", gpu.name), "leave it out, or choose a board of Ada, Hopper or later");
  }
  if (const auto goes = check_program(spec, recipe, setup); !goes) return goes;
  if (const auto goes = check_ends(spec, setup); !goes) return goes;
  return check_sizes(spec, recipe, setup);
}

}  // namespace plimsoll
