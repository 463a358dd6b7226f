#include "cli/options/stack_flags.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/options/foreign_options.h"
#include "cli/options/offload_items.h"
#include "cli/options/partner_options.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

Result<void> read_recompute(const std::string& text, StackSetup& setup) {
  if (text == "none") return {};
  if (text == "full") {
    setup.recomputation = Recomputation::kFull;
    return {};
  }
  if (text == "selective") {
    setup.recomputation = Recomputation::kSelective;
    return {};
  }
  constexpr std::string_view kEvery = "every:";
  std::int64_t every = 0;
  if (text.starts_with(kEvery)) std::from_chars(text.data() + kEvery.size(), text.data() + text.size(), every);
  if (every < 1) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("--recompute '{}' is no rule", text), .where = {},
                 .remedy = "choose none, selective, full or every:K"});
  }
  setup.recomputation = Recomputation::kEvery;
  setup.every = every;
  return {};
}

Result<void> read_zenflow(const StackFlags& flags, StackSetup& setup) {
  setup.selected_share = flags.zenflow;
  setup.update_every = flags.zenflow_every;
  if (flags.zenflow == 0) return {};
  const bool offloads =
      setup.stack == Stack::kDeepspeed && (setup.zero == 1 || setup.zero == 2) && setup.optimizer == Home::kHost;
  if (offloads) return {};
  return fail({.kind = ErrorKind::kInput, .what = "ZenFlow splits the updates of ZeRO-1 or 2 whose states wait in host memory",
               .where = "--zenflow", .remedy = "add --stack deepspeed --zero 2 --offload optimizer:cpu"});
}

/// Gist's encodings follow from which layers read a map: they are of convolutional nets.
Result<void> read_compression(const StackFlags& flags, const ModelSpec& spec, StackSetup& setup) {
  const auto encoding = parse_map_encoding(flags.compress);
  if (!encoding) return fail(encoding.error());
  setup.compression.encoding = *encoding;
  setup.compression.relu_zeros = flags.relu_zeros.value_or(setup.compression.relu_zeros);
  if (setup.compression.exists()) {
    if (spec.is_conv_net()) return {};
    return fail({.kind = ErrorKind::kInput, .what = "Gist's encodings are of the feature maps of convolutional nets (resnet50, vgg16, densenet121)",
                 .where = "--compress-activations", .remedy = "here --recompute full or --offload activations:cpu saves memory"});
  }
  if (!flags.relu_zeros) return {};
  return fail({.kind = ErrorKind::kInput, .what = "zeros count where maps are encoded", .where = "--relu-zeros",
               .remedy = "add --compress-activations lossless"});
}

Result<void> read_layout(const StackFlags& flags, const ModelSpec& spec, StackSetup& setup) {
  setup.channels_last = flags.channels_last;
  if (!flags.channels_last || spec.is_conv_net()) return {};
  return fail({.kind = ErrorKind::kInput, .what = "only feature maps of convolutional nets (resnet50, vgg16, densenet121) have channels to store last",
               .where = "--channels-last", .remedy = "leave it out"});
}

Result<SequenceLengths> lengths_of(const std::string& text) {
  constexpr Bytes kLargestFile{std::int64_t{1} << 28};
  if (text.empty()) return SequenceLengths{};
  if (text.find("..") != std::string::npos && text.find_first_not_of("0123456789.") == std::string::npos) return parse_length_range(text);
  const auto lines = read_text_file(text, kLargestFile);
  if (!lines) return fail(lines.error());
  return read_lengths(*lines, text);
}

/// In whose code a model is usually trained under a stack.
ModuleStyle usual_modules(Stack stack, const ModelSpec& spec) {
  if (stack == Stack::kMegatron) return ModuleStyle::kMegatron;
  if (spec.is_conv_net()) return ModuleStyle::kTorchVision;
  return spec.reads_images() ? ModuleStyle::kTimm : ModuleStyle::kHuggingFace;
}

}  // namespace

void add_stack_flags(CLI::App& command, StackFlags& flags) {
  flags.chosen = command
                     .add_option("--stack", flags.stack,
                                 "the program that trains: plimsoll, pytorch, deepspeed, colossalai, megatron, llm.c")
                     ->capture_default_str()
                     ->group("software");
  command
      .add_option("--modules", flags.modules,
                  "whose layers another stack runs: huggingface, nanogpt, mosaic, litgpt, torchtune, "
                  "megatron, torchvision, timm, unsloth")
      ->group("software");
  command.add_flag("--compile", flags.compile, "torch.compile; of torchtune modules the loss too")->group("software");
  command
      .add_option("--fp8", flags.fp8,
                  "linear layers of the blocks multiply in fp8 (Transformer Engine; torchao of torchtune modules), scaled by steps before or by "
                  "present values: delayed, current")
      ->check(CLI::IsMember({"none", "delayed", "current"}))
      ->capture_default_str()
      ->group("software");
  command.add_flag("--fp8-params", flags.fp8_params, "weights of such layers are in fp8 themselves (megatron: --fp8-param-gather)")->group("software");
  command.add_option("--fp8-wide-ends", flags.fp8_wide_ends, "blocks at either end that stay in bf16 with --fp8 (NeMo's current scaling: 1)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group("software");
  command.add_option("--attention", flags.attention, "eager, efficient or flash (default: the fastest that there is)")
      ->group("software");
  command.add_option("--recompute", flags.recompute, "activation checkpointing of another stack: none, selective, full, every:K (beside a base that PEFT prepares: full)")
      ->capture_default_str()->group("software");
  command
      .add_option("--compress-activations", flags.compress,
                  "how feature maps of a convolutional net wait for the backward pass (Gist): none, lossless, fp16, fp10, fp8")
      ->capture_default_str()
      ->group("software");
  command
      .add_option("--relu-zeros", flags.relu_zeros, "share of what a ReLU makes that is zero, with --compress-activations (default: 0.5)")
      ->check(CLI::Range(0.0, 1.0))
      ->group("software");
  command.add_flag("--channels-last", flags.channels_last, "feature maps of a convolutional net are stored pixel by pixel (torch.channels_last)")
      ->group("software");
  command.add_option("--optimizer-loop", flags.optimizer_loop, "foreach, fused or for-loop")
      ->capture_default_str()
      ->group("software");
  add_optimizer_form_flags(command, flags.optimizer_form, "software");
  command.add_option("--dropout", flags.dropout, "of a model under another stack (default: its family's)")
      ->check(CLI::Range(0.0, 0.99))->group("software");
  command
      .add_option("--kbit-preparation", flags.kbit_preparation,
                  "yes or no: PEFT's prepare_model_for_kbit_training of a base of 4 or 8 bits (pytorch; default: yes for "
                  "huggingface modules that are not sharded)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group("software");
  command
      .add_option("--double-quant", flags.double_quant,
                  "yes or no: the scales of a 4-bit base are quantized once more (bnb_4bit_use_double_quant; bitsandbytes' own default is no)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->capture_default_str()
      ->group("software");
  command
      .add_option("--lengths", flags.lengths,
                  "sequences of varying length, the longest of them --seq: 91..2048, or a file with one sequence's tokens a line")
      ->group("software");
  command
      .add_option("--module-loading", flags.module_loading,
                  "when the driver loads kernels (CUDA_MODULE_LOADING): lazy, or eager as before CUDA 11.7")
      ->check(CLI::IsMember({"lazy", "eager"}))
      ->capture_default_str()
      ->group("software");
  command
      .add_flag("--rotary-tables", flags.rotary_tables,
                "every layer keeps cosines and sines of all positions (transformers' models of early 2024)")
      ->group("software");
  command
      .add_flag("--half-logits", flags.half_logits,
                "the loop computes the loss itself, of logits in the type that the products gave them")
      ->group("software");
  command
      .add_flag("--liger", flags.liger,
                "Liger's kernels in transformers' modules (use_liger_kernel): norms, rotary positions, gated products, head and loss at once")
      ->group("software");
  command
      .add_flag("--tiled-mlp", flags.tiled_mlp,
                "feed-forward layers run tile by tile, each made again in the backward pass (deepspeed: ALST)")
      ->group("software");
  command
      .add_option("--autocast", flags.autocast,
                  "yes or no: an autocast region around what lies in two bytes: bf16 weights, or what FSDP gathers (default: yes of FSDP "
                  "with huggingface, nanogpt and litgpt modules)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group("software");
  command
      .add_option("--whole-gradients", flags.whole_gradients,
                  "yes or no: FSDP reduces gradients with a step's last micro-batch alone and keeps them whole until then (no_sync; default: "
                  "yes with huggingface and litgpt modules)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group("software");
  command
      .add_option("--grouped-experts", flags.grouped_experts,
                  "yes or no: experts multiply in one kernel over tokens sorted by expert, as transformers 5 does (default: yes with "
                  "torchtune modules)")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group("software");
  command
      .add_flag("--written-gelu", flags.written_gelu, "GELU as powers, sums and products one after another (minGPT, nanoGPT until 2023)")
      ->group("software");
  command
      .add_option("--logits", flags.logits,
                  "held or freed: whether the loop still has them during backward (default: held by nanogpt and litgpt modules); inside: "
                  "they never leave a compiled nanogpt model, which returns its loss alone")
      ->check(CLI::IsMember({"held", "freed", "inside"}))
      ->group("software");
  command.add_option("--zero", flags.zero, "ZeRO stage over the GPUs (3: FSDP)")->check(CLI::Range(0, 3))->group("software");
  command.add_option("--dp", flags.gpus, "GPUs that share the batch")->check(CLI::Range(1, 65536))->group("software");
  command.add_option("--loss-chunks", flags.loss_chunks, "parts of the batch whose logits meet the loss one after another")
      ->check(CLI::Range(1, 4096))->group("software");
  command
      .add_flag("--update-in-backward", flags.update_in_backward,
                "every parameter is updated as soon as its gradient is there")
      ->group("software");
  command.add_option("--tp", flags.tensor_ranks, "GPUs that share each layer (megatron)")
      ->check(CLI::Range(1, 1024))
      ->group("software");
  command.add_option("--pp", flags.stages, "stages of a pipeline (megatron)")->check(CLI::Range(1, 1024))->group("software");
  command.add_option("--chunks", flags.chunks, "chunks of layers that a stage interleaves (megatron)")
      ->check(CLI::Range(1, 1024))
      ->group("software");
  command.add_option("--cp", flags.context_ranks, "GPUs that share a sequence (megatron: ring attention; deepspeed with ZeRO-3: Ulysses)")
      ->check(CLI::Range(1, 1024))
      ->group("software");
  add_megatron_flags(command, flags, "software");
  add_node_flags(command, flags, "software");
  command.add_option("--reduce-bucket", flags.reduce_bucket, "elements that deepspeed reduces at once; auto: hidden², as Hugging Face's trainers have it")
      ->check(CLI::Validator([](std::string& text) { return text == "auto" ? std::string() : CLI::Range(std::int64_t{1}, std::int64_t{1} << 40)(text); },
                             "ELEMENTS or auto"))
      ->capture_default_str()->group("software");
  command
      .add_flag("--deterministic", flags.deterministic,
                "cuBLAS with fixed workspaces (CUBLAS_WORKSPACE_CONFIG=:4096:8)")
      ->group("software");
  command.add_flag("--expandable-segments", flags.expandable_segments, "of PyTorch's allocator")->group("software");
  command
      .add_option("--offload", flags.offload,
                  "what waits elsewhere under another stack: optimizer:cpu, params:ssd, activations:cpu")
      ->delimiter(',')
      ->group("software");
  command
      .add_option("--zenflow", flags.zenflow,
                  "share of gradient columns that the GPU updates in every step (deepspeed; 0.05 to 0.1)")
      ->check(CLI::Range(0.001, 0.999))
      ->group("software");
  command.add_option("--zenflow-every", flags.zenflow_every, "steps after which ZenFlow updates the others in host memory")
      ->check(CLI::Range(1, 1024))->capture_default_str()->group("software");
  command
      .add_option("--placement", flags.placement,
                  "of Gemini's chunks: static, or auto (what a warm-up leaves of the GPU is filled)")
      ->check(CLI::IsMember({"static", "auto"}))
      ->capture_default_str()
      ->group("software");
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() == "software" && option->get_name() != "--stack") flags.options.push_back(option);
  }
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
                  "type in which gradients are summed and sent (megatron): fp32 as Megatron-LM, bf16 as NeMo and Megatron-Bridge")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str()
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
}

Result<void> check_stack_options(const StackFlags& flags) {
  if (flags.other()) return {};
  for (const CLI::Option* option : flags.options) {
    if (option->count() == 0) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} says how another program trains", option->get_name()),
                 .where = {},
                 .remedy = "add --stack pytorch (or another), or choose a --strategy for plimsoll"});
  }
  return {};
}

Result<void> check_reduction(const StackFlags& flags, Precision precision) {
  if (flags.reduce_in != "bf16" || compute_dtype(precision) == DType::kBf16) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("gradients of {} are not summed in bf16", to_text(precision)),
               .where = "--reduce-in",
               .remedy = "take --precision bf16-mixed, or leave it out"});
}

Result<void> check_autocast(const StackFlags& flags, Precision precision) {
  if (flags.autocast.empty() || precision == Precision::kBf16) return {};
  const bool mixed = precision == Precision::kBf16Mixed || precision == Precision::kFp16Mixed;
  if (mixed && flags.gpus > 1 && flags.zero >= 2) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "--autocast would be ignored: it is of weights in bf16, or of what FSDP gathers in two bytes",
               .where = {},
               .remedy = "add --precision bf16, or --dp and --zero 3, or leave it out"});
}

Result<StackSetup> read_stack_setup(const StackFlags& flags, const ModelSpec& spec) {
  StackSetup setup;
  const auto stack = parse_stack(flags.stack);
  if (!stack) return fail(with_own_value(stack.error(), "--stack", flags.stack));
  if (const auto goes = check_partner_options(flags); !goes) return fail(goes.error());
  setup.stack = *stack;
  setup.modules = usual_modules(*stack, spec);
  if (!flags.modules.empty()) {
    const auto modules = parse_module_style(flags.modules);
    if (!modules) return fail(modules.error());
    setup.modules = *modules;
  }
  if (!flags.attention.empty()) {
    const auto attention = parse_attention_kernel(flags.attention);
    if (!attention) return fail(attention.error());
    setup.attention = *attention;
  }
  if (const auto read = read_recompute(flags.recompute, setup); !read) return fail(read.error());
  if (setup.modules == ModuleStyle::kUnsloth && !is_given(flags, "--recompute")) {  // its own default ("unsloth")
    setup.recomputation = Recomputation::kFull;
    setup.activations = Home::kHost;
  }
  const auto loop = parse_optimizer_loop(flags.optimizer_loop);
  if (!loop) return fail(loop.error());
  setup.loop = *loop;
  const auto form = read_optimizer_form(flags.optimizer_form);
  if (!form) return fail(form.error());
  setup.optimizer_form = *form;
  if (const auto read = read_compression(flags, spec, setup); !read) return fail(read.error());
  if (const auto read = read_layout(flags, spec, setup); !read) return fail(read.error());
  const auto fp8 = parse_fp8_scaling(flags.fp8);
  if (!fp8) return fail(fp8.error());
  setup.fp8 = {.scaling = *fp8, .parameters = flags.fp8_params, .wide_ends = flags.fp8_wide_ends};
  setup.compile = flags.compile;
  // torchtune compiles the loss with the model, torchtitan since April 2025.
  setup.compile_loss = flags.compile && (setup.modules == ModuleStyle::kTorchTune || flags.logits == "inside");
  setup.dropout = flags.dropout;
  if (!flags.kbit_preparation.empty()) setup.kbit_preparation = flags.kbit_preparation == "yes";
  setup.plain_scales = flags.double_quant == "no";
  const auto lengths = lengths_of(flags.lengths);
  if (!lengths) return fail(lengths.error());
  setup.lengths = *lengths;
  setup.eager_modules = flags.module_loading == "eager";
  setup.rotary_tables = flags.rotary_tables;
  setup.half_logits = flags.half_logits;
  setup.liger = flags.liger;
  setup.tiled_mlp = flags.tiled_mlp;
  if (!flags.autocast.empty()) setup.autocasts = flags.autocast == "yes";
  if (!flags.whole_gradients.empty()) setup.whole_gradients = flags.whole_gradients == "yes";
  if (!flags.grouped_experts.empty()) setup.grouped_experts = flags.grouped_experts == "yes";
  setup.written_gelu = flags.written_gelu;
  if (!flags.logits.empty()) setup.holds_logits = flags.logits == "held";
  setup.zero = flags.zero;
  setup.data_ranks = flags.gpus;
  setup.loss_chunks = flags.loss_chunks;
  setup.update_in_backward = flags.update_in_backward;
  setup.tensor_ranks = flags.tensor_ranks;
  setup.stages = flags.stages;
  setup.chunks = flags.chunks;
  setup.context_ranks = flags.context_ranks;
  setup.sequence_parallel = flags.sequence_parallel;
  setup.reduces_in_half = flags.reduce_in == "bf16";
  setup.nodes = flags.nodes;
  setup.network = flags.network;
  setup.reduce_bucket = flags.reduce_bucket == "auto" ? spec.hidden * spec.hidden : std::stoll(flags.reduce_bucket);
  setup.overlaps_communication = !flags.no_overlap;
  setup.deterministic = flags.deterministic;
  setup.expandable_segments = flags.expandable_segments;
  if (const auto read = read_offload(flags.offload, setup); !read) return fail(read.error());
  if (const auto read = read_placement(flags.placement, setup); !read) return fail(read.error());
  if (const auto read = read_zenflow(flags, setup); !read) return fail(read.error());
  return setup;
}

}  // namespace plimsoll
