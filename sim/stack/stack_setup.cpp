#include "sim/stack/stack_setup.h"

#include <fmt/format.h>

#include <array>
#include <utility>

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
  std::string all;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  }
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is no {}", text, what), .where = {}, .remedy = "choose one of " + all});
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

std::string describe(const StackSetup& setup) {
  std::string text = fmt::format("{} modules", to_text(setup.modules));
  if (setup.compile) text += ", compiled";
  if (setup.liger) text += ", Liger's kernels";
  if (setup.fused_head) text += ", TRL's fused head";
  if (setup.fp8.exists()) text += fmt::format(", fp8 with {} scaling", to_text(setup.fp8.scaling));
  if (setup.fp8.parameters) text += ", weights in fp8";
  if (setup.fp8.wide_ends > 0) text += fmt::format(", {} blocks at each end in two bytes", setup.fp8.wide_ends);
  if (setup.compile_loss) text += ", loss compiled";
  if (setup.attention) text += fmt::format(", {} attention", to_text(*setup.attention));
  if (setup.recomputation == Recomputation::kEvery) text += fmt::format(", a checkpoint every {} blocks", setup.every);
  if (setup.recomputation == Recomputation::kFull) text += ", full recomputation";
  if (setup.recomputation == Recomputation::kSelective) text += ", selective recomputation";
  if (setup.activations != Home::kDevice) text += fmt::format(", checkpoints wait on the {}", to_text(setup.activations));
  if (setup.compression.exists()) text += fmt::format(", feature maps wait {}", to_text(setup.compression.encoding));
  if (setup.adapter.method != AdapterMethod::kLora) text += fmt::format(", {}", to_text(setup.adapter.method));
  if (setup.adapter.copies_embedding || setup.adapter.copies_head) text += fmt::format(", a trained copy of {}", copies_text(setup.adapter));
  if (setup.adapter_dropout > 0) text += fmt::format(", dropout {:g} of what adapters read", setup.adapter_dropout);
  if (setup.plain_scales) text += ", scales of the base in fp32";
  if (setup.older_bitsandbytes) text += ", 4-bit layers that keep what they read";
  if (setup.lengths.vary()) text += ", sequences of varying length";
  if (setup.channels_last) text += ", channels last";
  if (setup.rotary_tables) text += ", tables of rotary positions in every layer";
  if (setup.loss_chunks > 1) text += fmt::format(", the loss in {} chunks", setup.loss_chunks);
  if (setup.update_in_backward) text += ", updates in backward";
  text += describe(setup.optimizer_form);
  if (setup.half_weights) text += ", weights in two bytes";
  if (setup.autocasts) text += *setup.autocasts ? ", two-byte weights in an autocast region" : ", no autocast of what is gathered";
  if (setup.whole_gradients) text += *setup.whole_gradients ? ", gradients whole between micro-batches" : ", gradients reduced in every micro-batch";
  if (setup.grouped_experts) text += *setup.grouped_experts ? ", experts in grouped products" : ", experts one by one";
  if (setup.written_gelu) text += ", GELU written out";
  if (setup.legacy_kernels) text += ", kernels of 2020";
  if (setup.half_logits) text += ", the loss of logits as products make them";
  if (setup.holds_logits) text += *setup.holds_logits ? ", logits held" : ", logits let go";
  if (setup.holds_scores) text += ", masked scores held";
  if (setup.separate_ends) text += ", embedding and head sharded by themselves";
  if (setup.recomputes_attention) text += ", attention recomputed too";
  if (setup.older_softmax) text += ", the softmax of PyTorch 1.10";
  const std::pair<const char*, Home> homes[] = {{"parameters", setup.parameters}, {"optimizer", setup.optimizer}};
  for (const auto& [what, home] : homes) {
    if (home != Home::kDevice) text += fmt::format(", {} on the {}", what, to_text(home));
  }
  if (setup.delayed_update) text += ", updates one step late";
  if (setup.selected_share > 0) {
    text += fmt::format(", ZenFlow ({:.0f} % of columns each step, the others every {} steps)", 100 * setup.selected_share, setup.update_every);
  }
  if (setup.automatic_placement) text += ", placed by Gemini";
  if (setup.tiled_mlp) text += ", feed-forward layers in tiles";
  if (setup.tensor_ranks > 1 && !cuts_layers(setup)) text += fmt::format(", layers shared by {} GPUs", setup.tensor_ranks);
  if (setup.context_ranks > 1 && !cuts_layers(setup)) text += fmt::format(", sequences shared by {} GPUs", setup.context_ranks);
  if (setup.zero > 0) text += fmt::format(", ZeRO-{}", setup.zero);
  if (zero_ranks(setup) > 1) text += fmt::format(" over {} GPUs", zero_ranks(setup));
  return text + fmt::format(", {} optimizer", to_text(setup.loop));
}

}  // namespace plimsoll
