#include "cli/options/stack_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

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

bool is_of_megatron(const std::string& option) { return option == "--ep" || option == "--etp" || option == "--expert-dispatch"; }

/// What layouts of plimsoll's have, too.
bool is_degree(const std::string& option) {
  return option == "--dp" || option == "--zero" || option == "--tp" || option == "--pp" || option == "--cp" || option == "--chunks";
}

}  // namespace

Result<void> check_stack_options(const StackFlags& flags) {
  if (flags.other()) return {};
  for (const CLI::Option* option : flags.options) {
    if (option->count() == 0) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} says how another program trains", option->get_name()),
                 .where = {},
                 .remedy = is_of_megatron(option->get_name()) ? "add --stack megatron"
                           : is_degree(option->get_name())   ? "add --stack pytorch (or another), or --gpus for layouts that plimsoll plans"
                                                             : "add --stack pytorch (or another), or choose a --strategy for plimsoll"});
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
  if (mixed && flags.gpus * flags.context_ranks > 1 && flags.zero >= 2) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "--autocast would be ignored: it is of weights in bf16, or of what FSDP gathers in two bytes",
               .where = {},
               .remedy = "add --precision bf16, or --dp and --zero 3, or leave it out"});
}

namespace {

/// What runs a block's layers, and in which form.
Result<void> read_layers(const StackFlags& flags, const ModelSpec& spec, StackSetup& setup) {
  setup.modules = usual_modules(setup.stack, spec);
  if (!flags.modules.empty()) {
    const auto modules = parse_module_style(flags.modules);
    if (!modules) return fail(modules.error());
    setup.modules = *modules;
  }
  if (!flags.attention.empty()) {
    const auto attention = parse_attention_kernel(flags.attention);
    if (!attention) return fail(with_own_value(attention.error(), "--attention", flags.attention));
    setup.attention = *attention;
  }
  const auto fp8 = parse_fp8_scaling(flags.fp8);
  if (!fp8) return fail(fp8.error());
  setup.fp8 = {.scaling = *fp8, .parameters = flags.fp8_params, .wide_ends = flags.fp8_wide_ends};
  setup.compile = flags.compile;
  // torchtune compiles the loss with the model, torchtitan since April 2025.
  setup.compile_loss = flags.compile && (setup.modules == ModuleStyle::kTorchTune || flags.logits == "inside");
  setup.dropout = flags.dropout;
  setup.rotary_tables = flags.rotary_tables;
  setup.half_logits = flags.half_logits;
  setup.liger = flags.liger;
  setup.tiled_mlp = flags.tiled_mlp;
  setup.written_gelu = flags.written_gelu;
  if (!flags.autocast.empty()) setup.autocasts = flags.autocast == "yes";
  if (!flags.grouped_experts.empty()) setup.grouped_experts = flags.grouped_experts == "yes";
  if (!flags.logits.empty()) setup.holds_logits = flags.logits == "held";
  setup.loss_chunks = flags.loss_chunks;
  if (!flags.kbit_preparation.empty()) setup.kbit_preparation = flags.kbit_preparation == "yes";
  setup.plain_scales = flags.double_quant == "no";
  setup.older_bitsandbytes = flags.older_bitsandbytes;
  setup.narrow_adapters = flags.narrow_adapters;
  setup.older_sdpa = flags.older_sdpa;
  return {};
}

/// What is learned from; TRL's trainers of preferences have its fused head.
Result<void> read_preference(const StackFlags& flags, StackSetup& setup) {
  const auto method = parse_preference_method(flags.preferences);
  if (!method) return fail(method.error());
  setup.preference.method = *method;
  setup.fused_head = flags.fused_head || setup.preference.exists();
  setup.preference.prompt = flags.prompt;
  if (is_given(flags, "--rollout") && !setup.preference.writes())
    return fail({.kind = ErrorKind::kInput, .what = "who writes answers is of --workload grpo", .where = "--rollout", .remedy = "leave it out"});
  if (const auto read = parse_rollout(flags.rollout, setup.preference); !read) return read;
  if (flags.reference.empty()) return {};
  const auto reference = parse_reference_pass(flags.reference);
  if (!reference) return fail(reference.error());
  setup.preference.reference = *reference;
  return {};
}

/// In place of padded sequences: whole ones, in which attention ends with each document. Where nothing else was said it is
/// FlashAttention's, which trainers ask for when they pack.
void pack(StackSetup& setup) {
  setup.document_tokens = length_around_a_token(setup.lengths);
  setup.mean_document = mean_length(setup.lengths, std::numeric_limits<std::int64_t>::max());
  setup.lengths = {};
  if (!setup.attention) setup.attention = AttentionKernel::kFlash;
}

/// What waits for the backward pass, and how.
Result<void> read_kept(const StackFlags& flags, const ModelSpec& spec, StackSetup& setup) {
  if (const auto read = read_recompute(flags.recompute, setup); !read) return read;
  if (setup.preference.exists() && !is_given(flags, "--recompute")) setup.recomputation = Recomputation::kFull;  // TRL's default
  if (setup.modules == ModuleStyle::kUnsloth && !is_given(flags, "--recompute")) {  // its own default ("unsloth")
    setup.recomputation = Recomputation::kFull;
    setup.activations = Home::kHost;
  }
  if (const auto read = read_compression(flags, spec, setup); !read) return read;
  if (const auto read = read_layout(flags, spec, setup); !read) return read;
  const auto lengths = lengths_of(flags.lengths);
  if (!lengths) return fail(lengths.error());
  setup.lengths = *lengths;
  if (flags.packing) pack(setup);
  return {};
}

Result<void> read_update(const StackFlags& flags, StackSetup& setup) {
  const auto loop = parse_optimizer_loop(flags.optimizer_loop);
  if (!loop) return fail(loop.error());
  setup.loop = setup.stack == Stack::kMegatron ? OptimizerLoop::kFused : *loop;
  const auto form = read_optimizer_form(flags.optimizer_form);
  if (!form) return fail(form.error());
  setup.optimizer_form = *form;
  setup.update_in_backward = flags.update_in_backward;
  return {};
}

void read_sharing(const StackFlags& flags, const ModelSpec& spec, StackSetup& setup) {
  setup.zero = flags.zero;
  setup.data_ranks = flags.gpus;
  setup.tensor_ranks = flags.tensor_ranks;
  setup.stages = flags.stages;
  setup.chunks = flags.chunks;
  setup.context_ranks = flags.context_ranks;
  setup.expert_ranks = flags.expert_ranks;
  setup.expert_tensor_ranks = flags.expert_tensor_ranks;
  setup.gathers_tokens = flags.expert_dispatch == "allgather";
  setup.sequence_parallel = flags.sequence_parallel;
  setup.reduces_in_half = flags.reduce_in == "bf16";
  setup.nodes = flags.nodes;
  setup.network = flags.network;
  setup.peers = flags.peers;
  setup.reduce_bucket = flags.reduce_bucket == "auto" ? spec.hidden * spec.hidden : std::stoll(flags.reduce_bucket);
  setup.overlaps_communication = !flags.no_overlap;
  if (setup.stack == Stack::kPytorch && is_given(flags, "--reduce-in")) setup.reduces_in_single = flags.reduce_in == "fp32";
  if (!flags.whole_gradients.empty()) setup.whole_gradients = flags.whole_gradients == "yes";
}

}  // namespace

Result<StackSetup> read_stack_setup(const StackFlags& flags, const ModelSpec& spec) {
  StackSetup setup;
  const auto stack = parse_stack(flags.stack);
  if (!stack) return fail(with_own_value(stack.error(), "--stack", flags.stack));
  if (const auto goes = check_partner_options(flags); !goes) return fail(goes.error());
  setup.stack = *stack;
  if (const auto read = read_layers(flags, spec, setup); !read) return fail(read.error());
  if (const auto read = read_preference(flags, setup); !read) return fail(read.error());
  if (const auto read = read_kept(flags, spec, setup); !read) return fail(read.error());
  if (const auto read = read_update(flags, setup); !read) return fail(read.error());
  read_sharing(flags, spec, setup);
  setup.eager_modules = flags.module_loading == "eager";
  setup.deterministic = setup.adds_in_order = flags.deterministic;
  setup.expandable_segments = flags.expandable_segments;
  if (const auto read = read_offload(flags.offload, setup); !read) return fail(read.error());
  if (const auto read = read_placement(flags.placement, setup); !read) return fail(read.error());
  if (const auto read = read_zenflow(flags, setup); !read) return fail(read.error());
  return setup;
}

}  // namespace plimsoll
