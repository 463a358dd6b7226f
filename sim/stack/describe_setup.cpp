#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/stack/sequence_ranks.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {
namespace {

/// Whose kernels run, and in what numbers.
std::string kernels_text(const StackSetup& setup) {
  std::string text;
  if (setup.compile) text += ", compiled";
  if (setup.liger) text += ", Liger's kernels";
  if (setup.fused_head) text += ", TRL's fused head";
  if (setup.fp8.exists()) text += fmt::format(", fp8 with {} scaling", to_text(setup.fp8.scaling));
  if (setup.fp8.parameters) text += ", weights in fp8";
  if (setup.fp8.wide_ends > 0) text += fmt::format(", {} blocks at each end in two bytes", setup.fp8.wide_ends);
  if (setup.compile_loss) text += ", loss compiled";
  if (setup.attention) text += fmt::format(", {} attention", to_text(*setup.attention));
  return text;
}

/// What of a forward pass is kept, and how.
std::string kept_text(const StackSetup& setup) {
  std::string text;
  if (setup.recomputation == Recomputation::kEvery) text += fmt::format(", a checkpoint every {} blocks", setup.every);
  if (setup.recomputation == Recomputation::kFull) text += ", full recomputation";
  if (setup.recomputation == Recomputation::kSelective) text += ", selective recomputation";
  if (setup.activations != Home::kDevice) text += fmt::format(", checkpoints wait on the {}", to_text(setup.activations));
  if (setup.compression.exists()) text += fmt::format(", feature maps wait {}", to_text(setup.compression.encoding));
  return text;
}

/// What stands beside a frozen model.
std::string adapters_text(const StackSetup& setup) {
  std::string text;
  if (setup.adapter.method != AdapterMethod::kLora) text += fmt::format(", {}", to_text(setup.adapter.method));
  if (setup.adapter.copies_embedding || setup.adapter.copies_head) text += fmt::format(", a trained copy of {}", copies_text(setup.adapter));
  if (setup.adapter_dropout > 0) text += fmt::format(", dropout {:g} of what adapters read", setup.adapter_dropout);
  if (setup.plain_scales) text += ", scales of the base in fp32";
  if (setup.narrow_adapters) text += ", adapters in the model's own type";
  if (setup.older_bitsandbytes) text += ", 4-bit layers that keep what they read";
  return text;
}

/// What the loop feeds, and when it updates.
std::string loop_text(const StackSetup& setup) {
  std::string text;
  if (setup.preference.exists()) text += fmt::format(", {}", to_text(setup.preference.method));
  if (setup.preference.reference) text += fmt::format(" with reference {}", to_text(*setup.preference.reference));
  if (setup.wide_base) text += ", frozen model in fp32";
  if (setup.lengths.vary()) text += ", sequences of varying length";
  if (setup.document_tokens > 0) text += ", packed documents";
  if (setup.channels_last) text += ", channels last";
  if (setup.rotary_tables) text += ", tables of rotary positions in every layer";
  if (setup.loss_chunks > 1) text += fmt::format(", the loss in {} chunks", setup.loss_chunks);
  if (setup.update_in_backward) text += ", updates in backward";
  text += describe(setup.optimizer_form);
  return text;
}

/// What the software does that is not said of its name alone.
std::string software_text(const StackSetup& setup) {
  std::string text;
  if (setup.half_weights) text += ", weights in two bytes";
  if (setup.autocasts) text += *setup.autocasts ? ", two-byte weights in an autocast region" : ", no autocast of what is gathered";
  if (setup.whole_gradients) text += *setup.whole_gradients ? ", gradients whole between micro-batches" : ", gradients reduced in every micro-batch";
  if (setup.reduces_in_single) text += *setup.reduces_in_single ? ", gradients reduced in fp32" : ", gradients reduced in two bytes";
  if (setup.grouped_experts) text += *setup.grouped_experts ? ", experts in grouped products" : ", experts one by one";
  if (setup.written_gelu) text += ", GELU written out";
  if (setup.legacy_kernels) text += ", kernels of 2020";
  if (setup.half_logits) text += ", the loss of logits as products make them";
  if (setup.holds_logits) text += *setup.holds_logits ? ", logits held" : ", logits let go";
  if (setup.holds_scores) text += ", masked scores held";
  if (setup.separate_ends) text += ", embedding and head sharded by themselves";
  if (setup.recomputes_attention) text += ", attention recomputed too";
  if (setup.older_softmax) text += ", the softmax of PyTorch 1.10";
  return text;
}

/// What waits elsewhere.
std::string homes_text(const StackSetup& setup) {
  std::string text;
  const std::pair<const char*, Home> homes[] = {{"parameters", setup.parameters}, {"optimizer", setup.optimizer}};
  for (const auto& [what, home] : homes) {
    if (home != Home::kDevice) text += fmt::format(", {} on the {}", what, to_text(home));
  }
  if (setup.delayed_update) text += ", updates one step late";
  if (setup.selected_share > 0) {
    text += fmt::format(", ZenFlow ({:.0f} % of columns each step, the others every {} steps)", 100 * setup.selected_share, setup.update_every);
  }
  if (setup.automatic_placement) text += ", placed by Gemini";
  return text;
}

/// GPUs that share what ZeRO shards. Megatron's sequence ranks count, and each of several optimizer instances shares alone.
std::int64_t sharing_ranks(const StackSetup& setup) {
  return cuts_layers(setup) ? setup.data_ranks * setup.context_ranks / std::max<std::int64_t>(1, setup.optimizer_instances) : zero_ranks(setup);
}

/// What GPUs share.
std::string ranks_text(const StackSetup& setup) {
  std::string text;
  if (setup.tiled_mlp) text += ", feed-forward layers in tiles";
  if (setup.tensor_ranks > 1) text += fmt::format(", layers shared by {} GPUs", setup.tensor_ranks);
  if (setup.stages > 1) text += fmt::format(", layers in {} pipeline stages", setup.stages);
  if (setup.context_ranks > 1) text += fmt::format(", sequences shared by {} GPUs", setup.context_ranks);
  if (setup.zero > 0) {
    text += fmt::format(", ZeRO-{}", setup.zero);
    if (sharing_ranks(setup) > 1) text += fmt::format(" over {} GPUs", sharing_ranks(setup));
    if (setup.context_ranks > 1) text += ", sequence ranks among them";
  } else if (setup.data_ranks > 1) {
    text += fmt::format(", {} data-parallel replicas", setup.data_ranks);
  }
  if (setup.expert_ranks > 1) text += fmt::format(", experts shared by {} GPUs", setup.expert_ranks);
  return text;
}

}  // namespace

std::string describe(const StackSetup& setup) {
  const bool own = setup.stack == Stack::kLlmc;
  const std::string layers = own ? std::string("layers of its own") : fmt::format("{} modules", to_text(setup.modules));
  return layers + kernels_text(setup) + kept_text(setup) + adapters_text(setup) + loop_text(setup) + software_text(setup) + homes_text(setup) +
         ranks_text(setup) + (own ? std::string() : fmt::format(", {} optimizer", to_text(setup.loop)));
}

}  // namespace plimsoll
