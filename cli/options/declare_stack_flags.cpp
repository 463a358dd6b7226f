#include "cli/options/stack_flags.h"

namespace plimsoll {
namespace {

constexpr const char* kGroup = "Software";

/// What the layers are.
void add_module_flags(CLI::App& command, StackFlags& flags) {
  command
      .add_option("--modules", flags.modules,
                  "whose layers another stack runs: huggingface, nanogpt, mosaic, litgpt, torchtune, "
                  "megatron, torchvision, timm, unsloth")
      ->group(kGroup);
  command.add_flag("--compile", flags.compile, "torch.compile; of torchtune modules the loss too")->group(kGroup);
}

void add_fp8_flags(CLI::App& command, StackFlags& flags) {
  command
      .add_option("--fp8", flags.fp8,
                  "linear layers of the blocks multiply in fp8 (Transformer Engine; torchao of torchtune modules), scaled by steps before or by "
                  "present values: delayed, current")
      ->check(CLI::IsMember({"none", "delayed", "current"}))
      ->capture_default_str()
      ->group(kGroup);
  command.add_flag("--fp8-params", flags.fp8_params, "weights of such layers are in fp8 themselves (megatron: --fp8-param-gather)")->group(kGroup);
  command.add_option("--fp8-wide-ends", flags.fp8_wide_ends, "blocks at either end that stay in bf16 with --fp8 (NeMo's current scaling: 1)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(kGroup);
}

/// In which kernels layers run.
void add_kernel_flags(CLI::App& command, StackFlags& flags) {
  command.add_option("--attention", flags.attention, "eager, efficient, flash or cudnn (default: the fastest that the modules call)")
      ->group(kGroup);
  command
      .add_flag("--older-sdpa", flags.older_sdpa, "PyTorch before 2.11, whose fused attention on Hopper is FlashAttention 2, not cuDNN's")
      ->group(kGroup);
  command.add_option("--dropout", flags.dropout, "of a model under another stack (default: its family's)")
      ->check(CLI::Range(0.0, 0.99))->group(kGroup);
  command
      .add_flag("--liger", flags.liger,
                "Liger's kernels in transformers' modules (use_liger_kernel): norms, rotary positions, gated products, head and loss at once")
      ->group(kGroup);
  command
      .add_flag("--tiled-mlp", flags.tiled_mlp,
                "feed-forward layers run tile by tile, each made again in the backward pass (deepspeed: ALST)")
      ->group(kGroup);
  command
      .add_flag("--written-gelu", flags.written_gelu, "GELU as powers, sums and products one after another (minGPT, nanoGPT until 2023)")
      ->group(kGroup);
  command
      .add_option("--grouped-experts", flags.grouped_experts,
                  "yes or no: experts multiply in one kernel over tokens sorted by expert, as transformers 5 does (default: yes with "
                  "torchtune and megatron modules)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group(kGroup);
  command
      .add_flag("--rotary-tables", flags.rotary_tables,
                "every layer keeps cosines and sines of all positions (transformers' models of early 2024)")
      ->group(kGroup);
  command
      .add_option("--autocast", flags.autocast,
                  "yes or no: an autocast region around what lies in two bytes: bf16 weights, or what FSDP gathers (default: yes of FSDP "
                  "with huggingface, nanogpt and litgpt modules)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group(kGroup);
}

/// What waits for the backward pass, and how.
void add_kept_flags(CLI::App& command, StackFlags& flags) {
  command.add_option("--recompute", flags.recompute, "activation checkpointing of another stack: none, selective, full, every:K (beside a base that PEFT prepares: full)")
      ->capture_default_str()->group(kGroup);
  command
      .add_option("--compress-activations", flags.compress,
                  "how feature maps of a convolutional net wait for the backward pass (Gist): none, lossless, fp16, fp10, fp8")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--relu-zeros", flags.relu_zeros, "share of what a ReLU makes that is zero, with --compress-activations (default: 0.5)")
      ->check(CLI::Range(0.0, 1.0))
      ->group(kGroup);
  command.add_flag("--channels-last", flags.channels_last, "feature maps of a convolutional net are stored pixel by pixel (torch.channels_last)")
      ->group(kGroup);
  command
      .add_option("--lengths", flags.lengths,
                  "sequences of varying length, the longest of them --seq: 91..2048, or a file with one sequence's tokens a line")
      ->group(kGroup);
  command
      .add_flag("--packing", flags.packing,
                "sequences of --lengths fill those of --seq without padding, and attention ends with each (TRL's packing, LLaMA-Factory's neat_packing, "
                "axolotl's sample_packing)")
      ->group(kGroup);
}

/// The frozen model beside adapters.
void add_base_flags(CLI::App& command, StackFlags& flags) {
  command
      .add_option("--kbit-preparation", flags.kbit_preparation,
                  "yes or no: PEFT's prepare_model_for_kbit_training of a base of 4 or 8 bits (pytorch; default: yes for "
                  "huggingface modules that are not sharded)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group(kGroup);
  command
      .add_option("--double-quant", flags.double_quant,
                  "yes or no: the scales of a 4-bit base are quantized once more (bnb_4bit_use_double_quant; bitsandbytes' own default is no)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--older-bitsandbytes", flags.older_bitsandbytes,
                "4-bit layers keep what they read until the backward pass, as bitsandbytes' did until July 2024")
      ->group(kGroup);
  command
      .add_flag("--narrow-adapters", flags.narrow_adapters,
                "adapters are of the type that the model is kept in, not fp32 (PEFT before 0.12, or autocast_adapter_dtype=False)")
      ->group(kGroup);
}

/// Logits and loss.
void add_loss_flags(CLI::App& command, StackFlags& flags) {
  command
      .add_option("--reference", flags.reference,
                  "of --workload dpo, kto and grpo: what answers' log-probabilities are held against: copy (a frozen copy of the model), adapters-off, "
                  "precomputed, or none (default: of grpo none; adapters-off with adapters, else copy)")
      ->check(CLI::IsMember({"copy", "adapters-off", "precomputed", "none"}))
      ->group(kGroup);
  command
      .add_option("--rollout", flags.rollout,
                  "who writes the answers of --workload grpo: transformers, vllm:0.3 (on the same GPU, with that share of its memory), elsewhere")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--fused-head", flags.fused_head,
                "head and loss at once, logits tile by tile, in transformers' modules: how TRL's SFT trainer computes them (TRL 1.16)")
      ->group(kGroup);
  command
      .add_flag("--half-logits", flags.half_logits,
                "the loop computes the loss itself, of logits in the type that the products gave them")
      ->group(kGroup);
  command
      .add_option("--logits", flags.logits,
                  "held or freed: whether the loop still has them during backward (default: held by nanogpt and litgpt modules); inside: "
                  "they never leave a compiled nanogpt model, which returns its loss alone")
      ->check(CLI::IsMember({"held", "freed", "inside"}))
      ->group(kGroup);
  command.add_option("--loss-chunks", flags.loss_chunks, "parts of the batch whose logits meet the loss one after another")
      ->check(CLI::Range(1, 4096))->group(kGroup);
}

/// How the optimizer goes over the parameters.
void add_update_flags(CLI::App& command, StackFlags& flags) {
  command.add_option("--optimizer-loop", flags.optimizer_loop, "foreach, fused or for-loop")
      ->capture_default_str()
      ->group(kGroup);
  add_optimizer_form_flags(command, flags.optimizer_form, kGroup);
  command
      .add_flag("--update-in-backward", flags.update_in_backward,
                "every parameter is updated as soon as its gradient is there")
      ->group(kGroup);
}

/// Which ranks share experts, and how tokens come to them.
void add_expert_rank_flags(CLI::App& command, StackFlags& flags) {
  add_expert_ranks(command, flags, kGroup);
  command.add_option("--etp", flags.expert_tensor_ranks, "GPUs that share each expert (megatron; default: as --tp)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  command
      .add_option("--expert-dispatch", flags.expert_dispatch,
                  "how tokens come to experts (megatron): alltoall sends each to its own; allgather brings all to every GPU of the group")
      ->check(CLI::IsMember({"alltoall", "allgather"}))
      ->capture_default_str()
      ->group(kGroup);
}

/// What GPUs share.
void add_sharing_flags(CLI::App& command, StackFlags& flags) {
  command.add_option("--zero", flags.zero, "ZeRO stage over the GPUs (3: FSDP)")->check(CLI::Range(0, 3))->group(kGroup);
  command.add_option("--dp", flags.gpus, "GPUs that share the batch")->check(CLI::Range(1, 65536))->group(kGroup);
  command
      .add_option("--whole-gradients", flags.whole_gradients,
                  "yes or no: FSDP reduces gradients with a step's last micro-batch alone and keeps them whole until then (no_sync; default: "
                  "yes with huggingface and litgpt modules)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group(kGroup);
  command.add_option("--reduce-bucket", flags.reduce_bucket, "elements that deepspeed reduces at once; auto: hidden², as Hugging Face's trainers have it")
      ->check(CLI::Validator([](std::string& text) { return text == "auto" ? std::string() : CLI::Range(std::int64_t{1}, std::int64_t{1} << 40)(text); },
                             "ELEMENTS or auto"))
      ->capture_default_str()->group(kGroup);
  command.add_option("--tp", flags.tensor_ranks, "GPUs that share each layer (megatron; pytorch with torchtune modules, beside --zero 3)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  command.add_option("--pp", flags.stages, "stages of a pipeline (megatron)")->check(CLI::Range(1, 1024))->group(kGroup);
  command.add_option("--chunks", flags.chunks, "chunks of layers that a stage interleaves (megatron)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  command.add_option("--cp", flags.context_ranks, "GPUs that share a sequence (megatron and pytorch with --zero 3: ring attention; deepspeed with --zero 3: Ulysses)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  add_expert_rank_flags(command, flags);
  add_megatron_flags(command, flags, kGroup);
  add_node_flags(command, flags, kGroup);
}

/// What waits elsewhere, and what the libraries and the allocator take.
void add_memory_flags(CLI::App& command, StackFlags& flags) {
  command
      .add_option("--offload", flags.offload,
                  "what waits elsewhere under another stack: optimizer:cpu, params:ssd, activations:cpu")
      ->delimiter(',')
      ->group(kGroup);
  command
      .add_option("--zenflow", flags.zenflow,
                  "share of gradient columns that the GPU updates in every step (deepspeed; 0.05 to 0.1)")
      ->check(CLI::Range(0.001, 0.999))
      ->group(kGroup);
  command.add_option("--zenflow-every", flags.zenflow_every, "steps after which ZenFlow updates the others in host memory")
      ->check(CLI::Range(1, 1024))->capture_default_str()->group(kGroup);
  command
      .add_option("--placement", flags.placement,
                  "of Gemini's chunks: static, or auto (what a warm-up leaves of the GPU is filled)")
      ->check(CLI::IsMember({"static", "auto"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--module-loading", flags.module_loading,
                  "when the driver loads kernels (CUDA_MODULE_LOADING): lazy, or eager as before CUDA 11.7")
      ->check(CLI::IsMember({"lazy", "eager"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--deterministic", flags.deterministic,
                "cuBLAS with fixed workspaces (CUBLAS_WORKSPACE_CONFIG=:4096:8)")
      ->group(kGroup);
  command.add_flag("--expandable-segments", flags.expandable_segments, "of PyTorch's allocator")->group(kGroup);
}

}  // namespace

void add_stack_flags(CLI::App& command, StackFlags& flags) {
  flags.chosen = command
                     .add_option("--stack", flags.stack,
                                 "the program that trains: plimsoll, pytorch, deepspeed, colossalai, megatron, llm.c")
                     ->capture_default_str()
                     ->group(kGroup);
  add_module_flags(command, flags);
  add_fp8_flags(command, flags);
  add_kernel_flags(command, flags);
  add_kept_flags(command, flags);
  add_base_flags(command, flags);
  add_loss_flags(command, flags);
  add_update_flags(command, flags);
  add_sharing_flags(command, flags);
  add_memory_flags(command, flags);
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() == kGroup && option->get_name() != "--stack") flags.options.push_back(option);
  }
}

void add_preference_flags(CLI::App& command, StackFlags& flags) {
  const CLI::Option* option = command
                                  .add_option("--workload", flags.preferences,
                                              "what the model learns from where it is not texts, as TRL trains it: dpo (pairs of answers), kto (wanted and unwanted answers), grpo "
                                              "(its own answers' rewards)")
                                  ->check(CLI::IsMember({"dpo", "kto", "grpo"}))
                                  ->group(kGroup);
  const CLI::Option* prompt = command.add_option("--prompt", flags.prompt, "tokens of a sequence before the answer, of such a --workload")
                                  ->check(CLI::NonNegativeNumber)
                                  ->group(kGroup);
  flags.options.insert(flags.options.end(), {option, prompt});
}

void add_megatron_flags(CLI::App& command, StackFlags& flags, const std::string& group) {
  command
      .add_flag("--sequence-parallel,!--no-sequence-parallel", flags.sequence_parallel,
                "norms and dropouts on a part of the sequence (megatron), or not (--no-sequence-parallel)")
      ->group(group);
  command
      .add_flag("--no-overlap-comm", flags.no_overlap,
                "one reduction bucket of deepspeed instead of two; of megatron, nothing is sent beside a backward pass (2021)")
      ->group(group);
  command
      .add_option("--reduce-in", flags.reduce_in,
                  "type in which gradients are summed and sent: of megatron fp32 as Megatron-LM, bf16 as NeMo and Megatron-Bridge; of torchtune "
                  "modules under FSDP2 (default there: fp32 of bf16-mixed, bf16 of bf16)")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str()
      ->group(group);
}

void add_expert_ranks(CLI::App& command, StackFlags& flags, const std::string& group) {
  command.add_option("--ep", flags.expert_ranks, "GPUs that share the experts: of the data ranks, under megatron of all of a stage")
      ->check(CLI::Range(1, 65536))
      ->group(group);
}

void add_node_flags(CLI::App& command, StackFlags& flags, const std::string& group) {
  command.add_option("--nodes", flags.nodes, "nodes that the GPUs are on (default: 8 GPUs a node)")
      ->check(CLI::Range(1, 65536))
      ->group(group);
  command
      .add_option("--network", flags.network,
                  "between nodes: 25GB/s a GPU or 8x200Gb/s a node, with @5us for the latency")
      ->group(group);
  command
      .add_option("--peers", flags.peers,
                  "between GPUs of a node: nvlink (two boards with a bridge), or what a ring of them reaches (bus bandwidth of NCCL's "
                  "tests), e.g. 12GB/s; default: NVLink between modules, a share of PCIe between boards")
      ->group(group);
}

}  // namespace plimsoll
