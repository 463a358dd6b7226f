#include "cli/options/parallel_flags.h"

#include <fmt/format.h>

#include <charconv>

#include "sim/schedule/make_schedule.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string where, std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

bool given(const CLI::App& command, const std::string& option) {
  const CLI::Option* found = command.get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

template <typename Value>
std::optional<Value> if_given(const CLI::App& command, const std::string& option, Value value) {
  return given(command, option) ? std::optional<Value>(std::move(value)) : std::nullopt;
}

Result<SlowRank> read_slow(const std::string& text) {
  SlowRank slow;
  const auto equals = text.find('=');
  if (equals != std::string::npos) {
    const auto rank = std::from_chars(text.data(), text.data() + equals, slow.rank);
    const auto factor = std::from_chars(text.data() + equals + 1, text.data() + text.size(), slow.factor);
    const bool whole =
        rank.ptr == text.data() + equals && factor.ptr == text.data() + text.size() && factor.ec == std::errc{};
    if (whole && slow.factor >= 0.01 && slow.factor <= 1000) return slow;
  }
  return refuse("--slow-rank", fmt::format("'{}' is not of the form RANK=FACTOR", text),
                "for example 3=1.2: rank 3 takes 1.2 times as long");
}

/// "1d", "2d", "2.5d:4", "3d".
Result<void> read_tensor_layout(const std::string& text, LayoutRequest& request) {
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (const TensorLayout layout : {TensorLayout::kLine, TensorLayout::kSquare, TensorLayout::kDeep, TensorLayout::kCube}) {
    std::string known(to_text(layout));
    known.back() = 'd';
    if (name != known) continue;
    request.tensor_layout = layout;
    if ((layout == TensorLayout::kDeep) != (colon != std::string::npos)) break;
    if (colon == std::string::npos) return {};
    const auto depth = std::from_chars(text.data() + colon + 1, text.data() + text.size(), request.tensor_depth);
    if (depth.ec == std::errc{} && depth.ptr == text.data() + text.size() && request.tensor_depth >= 1) return {};
  }
  return refuse("--tensor-layout", fmt::format("'{}' is no way for tensor ranks to stand", text),
                "choose 1d, 2d, 2.5d:DEPTH or 3d");
}

/// "one-level", "two-level:4/2": a token chooses 2 of 4 groups first.
Result<std::optional<GroupChoice>> read_gating(const std::string& text) {
  if (text == "one-level") return std::optional<GroupChoice>();
  const std::string name = "two-level:";
  const auto slash = text.find('/');
  if (text.starts_with(name) && slash != std::string::npos) {
    GroupChoice choice;
    const char *middle = text.data() + slash, *end = text.data() + text.size();
    const auto groups = std::from_chars(text.data() + name.size(), middle, choice.groups);
    const auto chosen = std::from_chars(middle + 1, end, choice.chosen);
    if (groups.ptr == middle && groups.ec == std::errc{} && chosen.ptr == end && chosen.ec == std::errc{})
      return std::optional<GroupChoice>(choice);
  }
  return refuse("--gating", fmt::format("'{}' is no way to choose experts", text),
                "choose one-level or two-level:GROUPS/CHOSEN, for example two-level:4/2");
}

Result<Recomputation> read_recomputation(const std::string& text) {
  for (const Recomputation kind : {Recomputation::kNone, Recomputation::kSelective, Recomputation::kFull}) {
    if (to_text(kind) == text) return kind;
  }
  return refuse("--recompute", fmt::format("'{}' is no rule for many devices", text), "choose none, selective or full");
}

/// What is around the GPUs of a cluster is not modelled.
Result<void> check_machine(const MachineFlags& machine) {
  const bool around = !machine.ram.empty() || !machine.ssd.empty() || machine.direct_storage || !machine.pcie.empty() ||
                      !machine.device_memory.empty() || machine.cpu_cores || machine.dram_gbs ||
                      !machine.machine_file.empty();
  if (!around) return {};
  return refuse("--gpus", "of many devices, GPU and network are modelled, not what is around them",
                "leave --ram, --ssd, --direct-storage, --pcie, --device-memory, --cpu-cores, --dram-bandwidth and --machine out");
}

Result<BlockChoices> read_choices(const StackFlags& stack) {
  BlockChoices choices{.attention = {}, .dropout = stack.dropout};
  if (stack.attention.empty()) return choices;
  const auto attention = parse_attention_kernel(stack.attention);
  if (!attention) return fail(attention.error());
  choices.attention = *attention;
  return choices;
}

/// The first option that only layouts of several GPUs know, as typed; empty: none. Nodes are known to another stack too.
std::string_view layout_option(const CLI::App& command, const StackFlags& stack) {
  for (const char* option : {"--nodes", "--network", "--peers", "--ep"}) {
    if (!stack.other() && given(command, option)) return option;
  }
  // Under DeepSpeed ranks share a sequence as Ulysses does it, under PyTorch in a ring, and in no other way.
  const std::string_view way = stack.context_ranks < 2 ? "" : stack.stack == "deepspeed" ? "ulysses" : stack.stack == "pytorch" ? "ring" : "";
  const CLI::Option* context = command.get_option_no_throw("--context");
  const bool says_so = context != nullptr && context->count() > 0 && context->as<std::string>() == way;
  for (const char* option :
       {"--collective-sms", "--schedule", "--micro-batch", "--slow-rank", "--context",
        "--exact", "--gradients-at-end", "--imbalance", "--gating", "--tensor-layout", "--partition-activations", "--tp-comm-overlap"}) {
    if (given(command, option) && !(says_so && std::string_view(option) == "--context")) return option;
  }
  return {};
}

}  // namespace

void add_layout_flags(CLI::App& command, MachineFlags& machine, StackFlags& stack) {
  const std::string group = "Many devices";
  add_gpu_options(command, machine, "GPU by name, or as many as \"8x A100\", for a MODEL in place of a plan",
                  "GPUs of this kind", group);
  command.add_option("--dp", stack.gpus, "GPUs that share the batch (default: what the other degrees leave)")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  command.add_option("--tp", stack.tensor_ranks, "GPUs that share each layer")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  command.add_option("--pp", stack.stages, "stages of a pipeline")->check(CLI::Range(1, 1024))->group(group);
  command.add_option("--cp", stack.context_ranks, "GPUs that share a sequence")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  command.add_option("--zero", stack.zero, "what data ranks share out: 1 states, 2 and gradients, 3 and parameters")
      ->check(CLI::Range(0, 3))
      ->group(group);
  command.add_option("--chunks", stack.chunks, "chunks of layers a stage")->check(CLI::Range(1, 1024))->group(group);
  add_expert_ranks(command, stack, group);
  add_megatron_flags(command, stack, group);
  command.add_option("--recompute", stack.recompute, "none, selective or full")->capture_default_str()->group(group);
  command.add_option("--attention", stack.attention, "eager or flash (default)")->group(group);
  command.add_option("--dropout", stack.dropout, "default: the family's")->check(CLI::Range(0.0, 0.99))->group(group);
  add_node_flags(command, stack, group);
}

namespace {

constexpr const char* kParallelGroup = "Many devices";

void add_expert_flags(CLI::App& command, ParallelFlags& flags) {
  const std::string group = kParallelGroup;
  command
      .add_option("--imbalance", flags.imbalance,
                  "tokens of the fullest expert rank, over the mean (default: what chance makes of even choices)")
      ->check(CLI::Range(1.0, 1e3))
      ->group(group);
  command
      .add_option("--gating", flags.gating,
                  "of experts: one-level, or two-level:GROUPS/CHOSEN: groups first, each on --ep ranks side by side")
      ->capture_default_str()
      ->group(group);
}

void add_communication_flags(CLI::App& command, ParallelFlags& flags) {
  const std::string group = kParallelGroup;
  command
      .add_option("--collective-sms", flags.collective_sms,
                  "multiprocessors that a collective takes from kernels beside it: NCCL's channels (default: none)")
      ->check(CLI::Range(0, 1024))
      ->group(group);
  command
      .add_flag("--gradients-at-end", flags.gradients_at_end,
                "data ranks reduce gradients after the last backward pass, not beside it")
      ->group(group);
  command
      .add_flag("--tp-comm-overlap", flags.tp_comm_overlap,
                "products of the --tp GPUs are cut into pieces beside which they send (Transformer Engine)")
      ->group(group);
}

}  // namespace

void add_parallel_flags(CLI::App& command, ParallelFlags& flags) {
  const std::string group = kParallelGroup;
  command
      .add_option("--schedule", flags.schedule, "of a pipeline: 1f1b, interleaved, zb-h1, … (plimsoll schedule --list)")
      ->group(group);
  command.add_option("--micro-batch", flags.micro_batch, "sequences of a micro-batch")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  command.add_option("--context", flags.context, "how --cp ranks share a sequence: ring or ulysses")
      ->check(CLI::IsMember({"ring", "ulysses"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--tensor-layout", flags.tensor_layout,
                  "how --tp ranks stand: 1d (Megatron-LM), 2d, 2.5d:DEPTH or 3d (Colossal-AI)")
      ->capture_default_str()
      ->group(group);
  command.add_option("--slow-rank", flags.slow, "a straggler: RANK=FACTOR, may be repeated")->group(group);
  command.add_flag("--exact", flags.exact, "simulate every rank, not one of each kind")->group(group);
  command
      .add_flag("--partition-activations", flags.partition_activations,
                "with --recompute full, each of the --tp GPUs keeps its part of a block's input (ZeRO-R)")
      ->group(group);
  add_expert_flags(command, flags);
  add_communication_flags(command, flags);
}

bool asks_parallel(const CLI::App& command, const MachineFlags& machine, const StackFlags& stack) {
  return !stack.other() && (machine.gpus > 1 || !layout_option(command, stack).empty());
}

Result<void> check_several(const CLI::App& command, const MachineFlags& machine, const StackFlags& stack) {
  const std::string_view option = layout_option(command, stack);
  if (stack.other() || machine.gpus > 1 || option.empty()) return {};
  return refuse(
      std::string(option), "it is of a training on several GPUs, and there is one",
      option == "--micro-batch" ? "say --batch, or how many GPUs: --gpus" : "leave it out, or say how many: --gpus");
}

Result<void> check_no_layout(const CLI::App& command, const StackFlags& stack) {
  const std::string_view option = layout_option(command, stack);
  if (!stack.other() || option.empty()) return {};
  return refuse(
      std::string(option),
      fmt::format("it belongs to the layouts that plimsoll plans, and --stack {} would ignore it", stack.stack),
      option == "--micro-batch" ? "say --batch" : "leave it or --stack out");
}

LayoutRequest said_degrees(const CLI::App& command, const StackFlags& stack, const TrainingFlags& training) {
  LayoutRequest request;
  request.data_ranks = if_given(command, "--dp", stack.gpus);
  request.tensor_ranks = if_given(command, "--tp", stack.tensor_ranks);
  request.stages = if_given(command, "--pp", stack.stages);
  request.context_ranks = if_given(command, "--cp", stack.context_ranks);
  request.expert_ranks = if_given(command, "--ep", stack.expert_ranks);
  request.zero = if_given(command, "--zero", stack.zero);
  request.sequence_parallel = if_given(command, "--sequence-parallel", stack.sequence_parallel);
  request.chunks = if_given(command, "--chunks", stack.chunks);
  request.micro_batch = if_given(command, "--batch", training.batch);
  request.global_batch = training.global_batch;
  return request;
}

Result<LayoutRequest> read_layout(const CLI::App& command, const ParallelFlags& flags, const StackFlags& stack,
                                  const TrainingFlags& training) {
  if (given(command, "--accumulate"))
    return refuse("--accumulate", "micro-batches follow from the layout", "say --global-batch");
  LayoutRequest request = said_degrees(command, stack, training);
  request.schedule = if_given(command, "--schedule", flags.schedule);
  if (request.schedule) {
    if (const auto known = find_schedule_kind(*request.schedule); !known)
      return refuse("--schedule", known.error().what, known.error().remedy);
  }
  if (const auto micro = if_given(command, "--micro-batch", flags.micro_batch)) {
    if (request.micro_batch) return refuse("--batch", "--batch and --micro-batch are the same", "give one of them");
    request.micro_batch = micro;
  }
  if (given(command, "--context") && request.context_ranks.value_or(1) == 1)
    return refuse("--context", "it says how --cp ranks share a sequence", "add --cp");
  request.context = flags.context == "ulysses" ? ContextKind::kUlysses : ContextKind::kRing;
  if (const auto stands = read_tensor_layout(flags.tensor_layout, request); !stands) return fail(stands.error());
  request.overlaps_gradients = !flags.gradients_at_end && !stack.no_overlap;
  request.overlaps_tensor = !stack.no_overlap;
  request.partitions_checkpoints = flags.partition_activations;
  request.cuts_products = flags.tp_comm_overlap;
  if (given(command, "--recompute")) {
    const auto rule = read_recomputation(stack.recompute);
    if (!rule) return fail(rule.error());
    request.recomputation = *rule;
  }
  return request;
}

namespace {

Result<Cluster> read_cluster(const ParallelFlags& flags, const StackFlags& stack, const MachineFlags& machine, const GpuEntry& gpu) {
  return make_cluster(gpu, {.gpus = machine.gpus,
                            .nodes = stack.nodes,
                            .network = stack.network,
                            .peers = stack.peers,
                            .collective_sms = flags.collective_sms});
}

/// The recipe of a micro-batch; the global batch is the layout's.
Result<Recipe> read_recipe_of_layout(const TrainingFlags& training, const ModelSpec& spec, const GpuEntry& gpu,
                                     std::vector<std::string>& notes) {
  TrainingFlags alone = training;
  alone.global_batch = std::nullopt;
  const PrecisionAdvice advice = default_precision(gpu);
  const auto recipe = make_recipe(alone, spec, advice.precision, advice.reason, notes);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, spec); !valid) return fail(valid.error());
  if (recipe->adapter.exists())
    return refuse("--lora", "adapters over many devices are not modelled", "leave --lora or --gpus out, or say --stack pytorch --zero 3");
  std::erase(notes, step_text(spec, *recipe));  // the layout's own
  return *recipe;
}

Result<BlockChoices> read_layout_choices(const ParallelFlags& flags, const StackFlags& stack, Precision precision) {
  auto choices = read_choices(stack);
  if (!choices) return fail(choices.error());
  if (const auto goes = check_reduction(stack, precision); !goes) return fail(goes.error());
  const auto groups = read_gating(flags.gating);
  if (!groups) return fail(groups.error());
  choices->reduces_in_half = stack.reduce_in == "bf16";
  choices->imbalance = flags.imbalance;
  choices->groups = *groups;
  return *choices;
}

/// What of the question depends on no recipe.
Result<void> read_surroundings(const ParallelFlags& flags, const StackFlags& stack, const MachineFlags& machine, AskedParallel& asked) {
  ParallelQuestion& question = asked.question;
  const auto os = parse_operating_system(machine.os);
  if (!os) return fail(os.error());
  question.os = *os;
  question.desktop = machine.desktop;
  question.exact = flags.exact;
  if (flags.imbalance && question.spec.experts.count == 0)
    return refuse("--imbalance", fmt::format("{} has no experts", question.spec.name), "leave it out, or take a mixture of experts");
  if (!stack.network.empty() && question.cluster.nodes() == 1)
    asked.notes.push_back("--network is between nodes, and all GPUs are in one: it changes nothing");
  for (const std::string& text : flags.slow) {
    const auto slow = read_slow(text);
    if (!slow) return fail(slow.error());
    question.slow.push_back(*slow);
  }
  return {};
}

}  // namespace

Result<AskedParallel> read_parallel(const std::string& model, const ParallelFlags& flags, const StackFlags& stack,
                                    const MachineFlags& machine, const TrainingFlags& training) {
  if (machine.gpu.empty() || machine.gpu == "this")
    return refuse("--on", "many devices need a GPU of the catalogue", "name one: --on \"A100 80GB\"");
  if (const auto goes = check_machine(machine); !goes) return fail(goes.error());
  const auto described = describe_model(model, training);
  if (!described) return fail(described.error());
  const auto gpu = find_gpu(built_in_gpu_catalogue(), machine.gpu);
  if (!gpu) return fail(gpu.error());
  auto cluster = read_cluster(flags, stack, machine, *gpu);
  if (!cluster) return fail(cluster.error());
  AskedParallel asked;
  asked.question.spec = described->spec;
  asked.question.cluster = std::move(*cluster);
  const auto recipe = read_recipe_of_layout(training, asked.question.spec, *gpu, asked.notes);
  if (!recipe) return fail(recipe.error());
  asked.question.recipe = *recipe;
  const auto choices = read_layout_choices(flags, stack, recipe->precision);
  if (!choices) return fail(choices.error());
  asked.question.choices = *choices;
  if (const auto goes = read_surroundings(flags, stack, machine, asked); !goes) return fail(goes.error());
  return asked;
}

}  // namespace plimsoll
