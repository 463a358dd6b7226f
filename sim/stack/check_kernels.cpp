#include "sim/stack/check_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--liger", .remedy = std::move(remedy)});
}

/// Families whose modules liger-kernel 0.8.5 replaces by its defaults (its table of model types), and which are modelled with it.
bool has_liger(Family family) {
  constexpr Family kCovered[] = {Family::kLlama, Family::kMistral, Family::kMixtral, Family::kQwen2, Family::kQwen3,
                                 Family::kGemma, Family::kGemma2, Family::kGemma3, Family::kPhi3, Family::kOlmo2};
  return std::find(std::begin(kCovered), std::end(kCovered), family) != std::end(kCovered);
}

/// Replaced in part, or by other kernels than these.
bool is_other_liger(Family family) {
  return family == Family::kDeepSeek || family == Family::kLlama4 || family == Family::kGptOss;
}

}  // namespace

bool has_flash_attention(const GpuEntry& gpu) { return is_simulated_only(gpu) || std::strtod(gpu.compute_capability.c_str(), nullptr) >= 8.0; }

Result<void> check_flash(const StackSetup& setup, const GpuEntry& gpu) {
  if (setup.attention != AttentionKernel::kFlash || has_flash_attention(gpu)) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("FlashAttention 2 runs on Ampere and later, not on {}", gpu.name),
               .where = "--attention",
               .remedy = "take --attention efficient, PyTorch's own kernel for such a GPU"});
}

Result<void> check_liger(const ModelSpec& spec, const StackSetup& setup) {
  if (!setup.liger) return {};
  if ((setup.stack != Stack::kPytorch && setup.stack != Stack::kDeepspeed) || setup.modules != ModuleStyle::kHuggingFace) {
    return refused(fmt::format("Liger's kernels stand in transformers' modules under pytorch and deepspeed, not in {} modules under {}",
                               to_text(setup.modules), to_text(setup.stack)),
                   "take --stack pytorch and huggingface modules, or leave it out");
  }
  if (is_other_liger(spec.family)) return refused(fmt::format("what Liger replaces in {} is not modelled", spec.name), "leave it out");
  if (!has_liger(spec.family)) return refused(fmt::format("Liger has no kernels for the family of {}", spec.name), "leave it out");
  const std::pair<bool, std::string_view> unknown[] = {{setup.compile || setup.compile_loss, "compiled modules"},
                                                       {setup.fp8.exists(), "products in fp8"},
                                                       {setup.loss_chunks > 1, "chunks of the loss"},
                                                       {setup.half_logits, "a loss of the loop's own"},
                                                       {spec.head != HeadKind::kNextToken, "a head of classes"}};
  for (const auto& [asked, what] : unknown) {
    if (asked) return refused(fmt::format("Liger's kernels beside {} are not modelled", what), "leave one of both out");
  }
  return {};
}

Result<void> check_fused_head(const ModelSpec& spec, const StackSetup& setup) {
  if (!setup.fused_head) return {};
  const auto no = [&setup](std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = setup.preference.exists() ? "--workload" : "--fused-head", .remedy = "leave one of both out"});
  };
  if ((setup.stack != Stack::kPytorch && setup.stack != Stack::kDeepspeed) || setup.modules != ModuleStyle::kHuggingFace) {
    return no(fmt::format("TRL's fused head stands in transformers' models under pytorch and deepspeed, not in {} modules under {}",
                          to_text(setup.modules), to_text(setup.stack)));
  }
  if (spec.head != HeadKind::kNextToken || spec.has_encoder_and_decoder() || spec.embedding_width > 0 || spec.adaptive.exists())
    return no(fmt::format("TRL's fused head is of models that predict the next token with one matrix, which {} is not", spec.name));
  const std::pair<bool, std::string_view> unknown[] = {{setup.liger, "Liger's kernels"},
                                                       {setup.compile || setup.compile_loss, "compiled modules"},
                                                       {setup.loss_chunks > 1, "chunks of the loss"},
                                                       {setup.half_logits, "a loss of the loop's own"}};
  for (const auto& [asked, what] : unknown) {
    if (asked) return no(fmt::format("TRL's fused head beside {} is not modelled", what));
  }
  return {};
}

Result<void> check_packing(const ModelSpec& spec, const StackSetup& setup) {
  if (setup.document_tokens == 0) return {};
  const auto no = [](std::string what, std::string remedy) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--packing", .remedy = std::move(remedy)});
  };
  if ((setup.stack != Stack::kPytorch && setup.stack != Stack::kDeepspeed) || setup.modules != ModuleStyle::kHuggingFace)
    return no("attention that ends with packed documents is modelled of huggingface modules under pytorch and deepspeed", "leave it out");
  if (setup.attention != AttentionKernel::kFlash) return no("FlashAttention 2 alone ends with packed documents in transformers' models", "take --attention flash");
  if (!spec.causal || spec.has_encoder_and_decoder() || spec.head != HeadKind::kNextToken)
    return no(fmt::format("documents are packed for models that predict the next token, which {} does not", spec.name), "leave it out");
  if (setup.context_ranks > 1) return no("packed documents whose sequence GPUs share are not modelled", "leave --cp out");
  return {};
}

Result<void> check_tiles(const ModelSpec& spec, const StackSetup& setup) {
  if (!setup.tiled_mlp) return {};
  const auto no = [](std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--tiled-mlp", .remedy = "leave it out"});
  };
  if (setup.stack != Stack::kDeepspeed || setup.zero != 3 || setup.modules != ModuleStyle::kHuggingFace) {
    return no("tiles of feed-forward layers are modelled of deepspeed's ZeRO-3 with huggingface modules");
  }
  if (spec.experts.count > 0) return no(fmt::format("tiles of the experts of {} are not modelled", spec.name));
  if (spec.has_encoder_and_decoder() || spec.reads_images()) return no(fmt::format("tiles of the layers of {} are not modelled", spec.name));
  return {};
}

std::string liger_assumption() {
  return "Liger's kernels allocate and keep what liger-kernel 0.8.5 does; their times follow from the bytes that they move, and none was measured";
}

Result<void> check_unsloth(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (setup.modules != ModuleStyle::kUnsloth) return {};
  constexpr Family kFast[] = {Family::kLlama, Family::kMistral, Family::kQwen2, Family::kQwen3, Family::kGemma};
  const bool fast = std::find(std::begin(kFast), std::end(kFast), spec.family) != std::end(kFast) && spec.experts.count == 0;
  const std::string remedy = "take --modules huggingface";
  const auto no = [&](std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--modules unsloth", .remedy = remedy});
  };
  if (setup.stack != Stack::kPytorch || setup.zero > 0) return no("Unsloth is modelled under pytorch, with parameters whole on every GPU");
  if (!fast) return no(fmt::format("what Unsloth makes of {} is not modelled: of dense Llama, Mistral, Qwen 2, Qwen 3 and Gemma alone", spec.name));
  if (!recipe.adapter.exists()) return no("of Unsloth's training adapters alone are modelled");
  if (setup.adapter_dropout > 0) return no("Unsloth's functions beside dropout of what adapters read are not modelled");
  const std::pair<bool, std::string_view> unknown[] = {{setup.compile || setup.compile_loss, "compiled modules"},
                                                       {setup.fp8.exists(), "products in fp8"},
                                                       {setup.loss_chunks > 1, "chunks of the loss"},
                                                       {setup.rotary_tables, "tables of rotary positions in every layer"}};
  for (const auto& [asked, what] : unknown) {
    if (asked) return no(fmt::format("Unsloth's functions beside {} are not modelled", what));
  }
  return {};
}

std::string unsloth_assumption() {
  return "Unsloth's functions keep and allocate what its published code does (October 2026); their times follow from the bytes that they move, and none was measured";
}

}  // namespace plimsoll
