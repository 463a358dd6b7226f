#include "sim/stack/stack_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>
#include <vector>

#include "core/base/nearest_names.h"
#include "sim/stack/sequence_ranks.h"
#include "sim/stack/tensor_ranks.h"

namespace plimsoll {
namespace {

template <typename Value, std::size_t count>
using Names = std::array<std::pair<Value, std::string_view>, count>;

constexpr Names<Stack, 6> kStacks{{{Stack::kPlimsoll, "plimsoll"},
                                   {Stack::kPytorch, "pytorch"},
                                   {Stack::kDeepspeed, "deepspeed"},
                                   {Stack::kColossalai, "colossalai"},
                                   {Stack::kMegatron, "megatron"},
                                   {Stack::kLlmc, "llm.c"}}};
constexpr Names<ModuleStyle, 9> kStyles{{{ModuleStyle::kHuggingFace, "huggingface"},
                                         {ModuleStyle::kNanoGpt, "nanogpt"},
                                         {ModuleStyle::kMosaic, "mosaic"},
                                         {ModuleStyle::kLitGpt, "litgpt"},
                                         {ModuleStyle::kTorchTune, "torchtune"},
                                         {ModuleStyle::kMegatron, "megatron"},
                                         {ModuleStyle::kTorchVision, "torchvision"},
                                         {ModuleStyle::kTimm, "timm"},
                                         {ModuleStyle::kUnsloth, "unsloth"}}};
constexpr Names<AttentionKernel, 4> kAttentions{{{AttentionKernel::kEager, "eager"},
                                                 {AttentionKernel::kEfficient, "efficient"},
                                                 {AttentionKernel::kFlash, "flash"},
                                                 {AttentionKernel::kCudnn, "cudnn"}}};
constexpr Names<Recomputation, 4> kRecomputations{{{Recomputation::kNone, "none"},
                                                   {Recomputation::kSelective, "selective"},
                                                   {Recomputation::kFull, "full"},
                                                   {Recomputation::kEvery, "every"}}};
constexpr Names<OptimizerLoop, 3> kLoops{
    {{OptimizerLoop::kForeach, "foreach"}, {OptimizerLoop::kFused, "fused"}, {OptimizerLoop::kForLoop, "for-loop"}}};
constexpr Names<MapEncoding, 5> kEncodings{{{MapEncoding::kPlain, "none"},
                                            {MapEncoding::kLossless, "lossless"},
                                            {MapEncoding::kFp16, "fp16"},
                                            {MapEncoding::kFp10, "fp10"},
                                            {MapEncoding::kFp8, "fp8"}}};
constexpr Names<Home, 3> kHomes{{{Home::kDevice, "gpu"}, {Home::kHost, "cpu"}, {Home::kDrive, "ssd"}}};

template <typename Value, std::size_t count>
std::string_view name_in(const Names<Value, count>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "?";
}

template <typename Value, std::size_t count>
Result<Value> value_in(const Names<Value, count>& names, std::string_view text, std::string_view what) {
  std::vector<std::string> words;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    words.emplace_back(name);
  }
  const auto near = near_names(text, words);
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is no {}", text, what), .where = {},
               .remedy = near.empty() ? fmt::format("choose one of {}", fmt::join(words, ", ")) : did_you_mean(text, near)});
}

}  // namespace

std::string_view to_text(Stack stack) { return name_in(kStacks, stack); }
std::string_view to_text(ModuleStyle style) { return name_in(kStyles, style); }
std::string_view to_text(AttentionKernel attention) { return name_in(kAttentions, attention); }
std::string_view to_text(Recomputation recomputation) { return name_in(kRecomputations, recomputation); }
std::string_view to_text(OptimizerLoop loop) { return name_in(kLoops, loop); }
std::string_view to_text(Home home) { return name_in(kHomes, home); }
std::string_view to_text(MapEncoding encoding) { return name_in(kEncodings, encoding); }
Result<Stack> parse_stack(std::string_view text) { return value_in(kStacks, text, "software stack"); }
Result<ModuleStyle> parse_module_style(std::string_view text) { return value_in(kStyles, text, "style of modules"); }
Result<AttentionKernel> parse_attention_kernel(std::string_view text) { return value_in(kAttentions, text, "attention"); }
Result<OptimizerLoop> parse_optimizer_loop(std::string_view text) { return value_in(kLoops, text, "loop of an optimizer"); }
Result<MapEncoding> parse_map_encoding(std::string_view text) { return value_in(kEncodings, text, "encoding of feature maps"); }

std::int64_t gpus_of(const StackSetup& setup) {
  return setup.data_ranks * setup.tensor_ranks * setup.stages * setup.context_ranks;
}

bool cuts_layers(const StackSetup& setup) {
  if (setup.stack == Stack::kMegatron) return true;
  return setup.stack == Stack::kDeepspeed && setup.modules == ModuleStyle::kMegatron && setup.zero <= 1 &&
         (setup.tensor_ranks > 1 || setup.stages > 1);
}

bool is_fsdp(const StackSetup& setup) { return setup.stack == Stack::kPytorch && setup.zero >= 2 && zero_ranks(setup) > 1; }

bool autocasts(const StackSetup& setup, Precision precision) {
  if (setup.stack != Stack::kPytorch || setup.half_weights) return false;
  const bool wrapped = setup.modules == ModuleStyle::kHuggingFace || setup.modules == ModuleStyle::kNanoGpt || setup.modules == ModuleStyle::kLitGpt;
  return setup.autocasts.value_or(wrapped && precision != Precision::kBf16);
}

bool keeps_whole_gradients(const StackSetup& setup) {
  if (!is_fsdp(setup)) return false;
  return setup.whole_gradients.value_or(setup.modules == ModuleStyle::kHuggingFace || setup.modules == ModuleStyle::kLitGpt);
}

bool stops_early(const StackSetup& setup) {
  const bool wrapped = setup.modules == ModuleStyle::kMosaic || setup.modules == ModuleStyle::kTorchTune || setup.modules == ModuleStyle::kLitGpt;
  const bool runs_whole = setup.compile && !shares_layers(setup);
  const bool own = setup.stack == Stack::kPytorch && wrapped && !runs_whole && !setup.legacy_kernels;
  return setup.recomputation_stops_early.value_or(own);
}

bool prepares_kbit(const StackSetup& setup) {
  const bool keeps_types = setup.stack == Stack::kPytorch && !is_fsdp(setup) && !setup.half_weights;
  return keeps_types && setup.kbit_preparation.value_or(setup.modules == ModuleStyle::kHuggingFace);
}

}  // namespace plimsoll
