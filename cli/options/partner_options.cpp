#include "cli/options/partner_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace plimsoll {
namespace {

struct Partner {
  std::string_view option;
  bool goes;  ///< whether what it needs is there
  std::string_view why;
  std::string_view remedy;
};

bool is_huggingface(const StackFlags& flags) {
  const bool own_layers = flags.stack == "megatron" || flags.stack == "llm.c";
  return flags.modules == "huggingface" || (flags.modules.empty() && !own_layers);
}

bool shares_gradients(const StackFlags& flags) { return flags.gpus * flags.context_ranks > 1 && flags.zero >= 2; }

bool allocates_by_pytorch(const StackFlags& flags) { return flags.stack != "llm.c"; }

/// What GPUs share.
std::vector<Partner> sharing_partners(const StackFlags& flags) {
  const bool zero = flags.stack == "deepspeed" && flags.zero > 0;
  const bool fsdp2 = flags.stack == "pytorch" && flags.modules == "torchtune" && flags.zero >= 2 && flags.gpus > 1;
  return {
      {"--chunks", flags.stages > 1 || flags.chunks == 1, "stages of a pipeline interleave chunks", "add --pp"},
      {"--sequence-parallel", flags.tensor_ranks > 1 || !flags.sequence_parallel, "it shares what --tp GPUs have whole", "add --tp"},
      {"--reduce-bucket", zero, "it is of DeepSpeed's ZeRO", "add --stack deepspeed --zero 1, 2 or 3"},
      {"--no-overlap-comm", zero || flags.stack == "megatron", "it is of DeepSpeed's ZeRO and of Megatron",
       "add --stack megatron, or --stack deepspeed --zero 1, 2 or 3"},
      {"--reduce-in", flags.stack == "megatron" || fsdp2, "it is of Megatron's gradient buffers and of FSDP2's", "add --stack megatron, or --modules torchtune --dp and --zero 3"},
      {"--ep", flags.stack == "megatron", "experts are shared out by megatron, and by layouts that plimsoll plans", "add --stack megatron, or leave --stack out"},
      {"--etp", flags.stack == "megatron", "it shares each of Megatron's experts", "add --stack megatron"},
      {"--expert-dispatch", flags.stack == "megatron", "it says how tokens come to Megatron's experts", "add --stack megatron"}};
}

/// What only says more of another option.
std::vector<Partner> detail_partners(const StackFlags& flags) {
  return {
      {"--fp8-params", flags.fp8 != "none", "it says where weights of products in fp8 are kept", "add --fp8 delayed or current"},
      {"--fp8-wide-ends", flags.fp8 != "none", "it says which blocks are left out of fp8", "add --fp8 delayed or current"},
      {"--zenflow-every", flags.zenflow > 0, "it says when ZenFlow updates in host memory", "add --zenflow"}};
}

/// Whose code the layers are.
std::vector<Partner> module_partners(const StackFlags& flags) {
  const bool shares = shares_gradients(flags), hugging_face = is_huggingface(flags);
  const bool keeps_types = flags.stack == "pytorch" && !shares && flags.modules != "unsloth";
  return {
      {"--modules", flags.stack != "megatron" || flags.modules == "megatron", "Megatron-LM's layers are its own", "leave it out"},
      {"--kbit-preparation", keeps_types || flags.kbit_preparation == "no",
       "FSDP wants one type in a unit, and other stacks make everything 16 bits again", "leave it out"},
      {"--rotary-tables", hugging_face, "only transformers' modules had them", "leave it out"},
      {"--half-logits", hugging_face && flags.stack != "llm.c" && flags.stack != "megatron",
       "transformers' modules alone make wide logits for the loss", "leave it out"},
      {"--liger", hugging_face && (flags.stack == "pytorch" || flags.stack == "deepspeed"),
       "Liger's kernels stand in transformers' modules under PyTorch and DeepSpeed", "take --stack pytorch or deepspeed with huggingface modules, or leave it out"},
      {"--tiled-mlp", hugging_face && flags.stack == "deepspeed" && flags.zero == 3, "it is of DeepSpeed's ZeRO-3 with transformers' modules",
       "add --stack deepspeed --zero 3, or leave it out"},
      {"--older-sdpa", flags.attention.empty() && flags.stack != "llm.c" && flags.stack != "megatron",
       "it says what PyTorch's fused attention is where nothing else does", "leave it, or --attention, out"},
      {"--autocast", flags.stack == "pytorch", "other stacks convert weights themselves, and run them without autocast", "leave it out"},
      {"--whole-gradients", flags.stack == "pytorch" && shares, "it is of gradients that PyTorch's FSDP shares out",
       "add --stack pytorch, --dp and --zero 3, or leave it out"},
      {"--grouped-experts", hugging_face || flags.modules == "torchtune" || flags.stack == "megatron", "other modules have experts as their own code has them",
       "take --modules huggingface or torchtune, or leave it out"},
      {"--written-gelu", flags.modules == "nanogpt" && flags.stack == "pytorch", "other modules have GELU as their own code has it",
       "add --stack pytorch --modules nanogpt, or leave it out"}};
}

/// What the training loop does.
std::vector<Partner> loop_partners(const StackFlags& flags) {
  const bool own_loop = allocates_by_pytorch(flags) && flags.stack != "megatron";
  return {
      {"--optimizer-loop", flags.stack != "megatron" || flags.optimizer_loop == "fused", "Megatron-LM's optimizers are fused", "leave it out"},
      {"--logits", own_loop && flags.loss_chunks == 1,
       "llm.c, Megatron-LM and a loss in chunks have loops of their own", "leave it out"},
      {"--logits", flags.logits != "inside" || (flags.compile && flags.modules == "nanogpt"),
       "logits stay inside a compiled nanogpt model alone", "add --compile --modules nanogpt, or say held or freed"},
      {"--packing", !flags.lengths.empty(), "it packs what --lengths says", "add --lengths"},
      {"--lengths", own_loop, "llm.c and Megatron-LM train on sequences of one length", "leave it out"}};
}

/// What llm.c has as its own code has it.
std::vector<Partner> llmc_partners(const StackFlags& flags) {
  const bool others = flags.stack != "llm.c";
  return {
      {"--modules", others, "llm.c's layers are its own", "leave it out"},
      {"--optimizer-loop", others, "llm.c updates all parameters in one kernel", "leave it out"},
      {"--loss-chunks", others, "llm.c's loss is of all logits at once", "leave it out"},
      {"--update-in-backward", others, "llm.c updates when all gradients are there", "leave it out"},
      {"--compile", others, "llm.c has no Python to compile", "leave it out"},
      {"--attention", others || flags.attention != "efficient", "llm.c does not call PyTorch's memory-efficient attention", "take flash or eager, or leave it out"}};
}

/// What libraries and the allocator take.
std::vector<Partner> process_partners(const StackFlags& flags) {
  const bool pytorch = allocates_by_pytorch(flags);
  return {
      {"--module-loading", pytorch, "what llm.c's process holds was measured as a whole", "leave it out"},
      {"--expandable-segments", pytorch, "llm.c allocates once, without PyTorch", "leave it out"},
      {"--deterministic", pytorch, "llm.c allocates once, without PyTorch", "leave it out"}};
}

}  // namespace

bool is_given(const StackFlags& flags, std::string_view name) {
  return std::any_of(flags.options.begin(), flags.options.end(),
                     [&](const CLI::Option* option) { return option->count() > 0 && option->get_name() == name; });
}

Result<void> check_partner_options(const StackFlags& flags) {
  for (const auto& partners_of : {sharing_partners, detail_partners, module_partners, loop_partners, llmc_partners, process_partners}) {
    for (const Partner& partner : partners_of(flags)) {
      if (partner.goes || !is_given(flags, partner.option)) continue;
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("{} would be ignored: {}", partner.option, partner.why),
                   .where = {},
                   .remedy = std::string(partner.remedy)});
    }
  }
  return {};
}

}  // namespace plimsoll
