#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "formats/plans/strategy_json.h"
#include "sim/validation/state_row.h"

namespace plimsoll {
namespace {

template <typename Value>
void take_word(RowFacts& facts, std::string_view key, Result<Value> (*parse)(std::string_view), Value& field) {
  if (facts.fact(key).empty()) return;
  const auto value = parse(facts.fact(key));
  if (value) {
    field = *value;
  } else {
    facts.refuse("unreadable fact", value.error().what);
  }
}

Result<Recomputation> parse_recomputation(std::string_view text) {
  for (const auto kind : {Recomputation::kNone, Recomputation::kSelective, Recomputation::kFull, Recomputation::kEvery}) {
    if (to_text(kind) == text) return kind;
  }
  return fail({.what = fmt::format("'{}' is no recomputation", text)});
}

Result<Home> parse_home(std::string_view text) {
  for (const auto home : {Home::kDevice, Home::kHost, Home::kDrive}) {
    if (to_text(home) == text) return home;
  }
  return fail({.what = fmt::format("'{}' is no place", text)});
}

/// Facts that are true or not said.
struct Flag {
  std::string_view key;
  bool StackSetup::*field;
};
constexpr Flag kFlags[] = {{"compile", &StackSetup::compile},
                           {"compile_loss", &StackSetup::compile_loss},
                           {"plain_scales", &StackSetup::plain_scales},
                           {"older_bitsandbytes", &StackSetup::older_bitsandbytes},
                           {"narrow_adapters", &StackSetup::narrow_adapters},
                           {"desktop", &StackSetup::desktop},
                           {"half_weights", &StackSetup::half_weights},
                           {"legacy_kernels", &StackSetup::legacy_kernels},
                           {"older_cublas", &StackSetup::older_cublas},
                           {"older_inductor", &StackSetup::older_inductor},
                           {"flash3", &StackSetup::flash3},
                           {"older_softmax", &StackSetup::older_softmax},
                           {"tiled_mlp", &StackSetup::tiled_mlp},
                           {"liger", &StackSetup::liger},
                           {"fused_head", &StackSetup::fused_head},
                           {"half_logits", &StackSetup::half_logits},
                           {"holds_scores", &StackSetup::holds_scores},
                           {"separate_ends", &StackSetup::separate_ends},
                           {"recomputes_attention", &StackSetup::recomputes_attention},
                           {"expandable", &StackSetup::expandable_segments},
                           {"channels_last", &StackSetup::channels_last},
                           {"update_in_backward", &StackSetup::update_in_backward},
                           {"keeps_gradients", &StackSetup::keeps_gradients},
                           {"delayed_update", &StackSetup::delayed_update},
                           {"eager_modules", &StackSetup::eager_modules},
                           {"deterministic", &StackSetup::deterministic},
                           {"reduces_in_half", &StackSetup::reduces_in_half},
                           {"gathers_tokens", &StackSetup::gathers_tokens},
                           {"wide_gates", &StackSetup::wide_gates},
                           {"adds_in_order", &StackSetup::adds_in_order}};

/// Facts that are true, false or left to the stack.
struct Answer {
  std::string_view key;
  std::optional<bool> StackSetup::*field;
};
constexpr Answer kAnswers[] = {{"kbit_preparation", &StackSetup::kbit_preparation},
                               {"autocasts", &StackSetup::autocasts},
                               {"whole_gradients", &StackSetup::whole_gradients},
                               {"grouped_experts", &StackSetup::grouped_experts},
                               {"stops_early", &StackSetup::recomputation_stops_early}};

void take_flags(RowFacts& facts, StackSetup& setup) {
  for (const Flag& flag : kFlags) setup.*flag.field = facts.is_true(flag.key);
  for (const Answer& answer : kAnswers) {
    if (!facts.fact(answer.key).empty()) setup.*answer.field = facts.is_true(answer.key);
  }
  if (facts.is_true("lets_logits_go")) setup.holds_logits = false;
  setup.overlaps_communication = facts.fact("overlap") != "false";
  setup.transformer_engine = facts.fact("engine") != "false";
  setup.fused_rotation = facts.fact("rope_fusion") != "false";
  setup.older_sdpa = facts.fact("older_sdpa") != "false";  // published figures are of software before 2.11 unless a rule says so
}

/// Whose code runs, and in which kernels.
void take_software(RowFacts& facts, StackSetup& setup) {
  if (facts.fact("stack").empty()) facts.refuse("unknown system", facts.row().field("system"));
  take_word(facts, "stack", parse_stack, setup.stack);
  take_word(facts, "modules", parse_module_style, setup.modules);
  if (facts.fact("attention").empty()) {
    facts.leave_open("attention kernel");
  } else {
    AttentionKernel kernel{};
    take_word(facts, "attention", parse_attention_kernel, kernel);
    setup.attention = kernel;
  }
  take_word(facts, "fp8", parse_fp8_scaling, setup.fp8.scaling);
  setup.fp8.parameters = facts.is_true("fp8_parameters");
  setup.fp8.wide_ends = facts.whole_fact("fp8_wide_ends").value_or(0);
  setup.dropout = facts.number_fact("dropout");
  if (!setup.dropout) facts.leave_open("dropout");
}

void take_adapter(RowFacts& facts, StackSetup& setup) {
  setup.adapter_dropout = facts.number_fact("lora_dropout").value_or(0);
  take_word(facts, "adapter_method", parse_adapter_method, setup.adapter.method);
  setup.adapter.virtual_tokens = facts.whole_fact("virtual_tokens").value_or(0);
  if (const auto copies = parse_copies(facts.fact("train_also"), setup.adapter); !copies) facts.refuse("unreadable fact", copies.error().what);
}

/// In what parts it goes over gradients and logits.
void take_parts(RowFacts& facts, StackSetup& setup) {
  setup.reduce_bucket = facts.whole_fact("reduce_bucket").value_or(setup.reduce_bucket);
  setup.predicted_positions = facts.whole_fact("predicted_positions").value_or(0);
  setup.loss_chunks = facts.whole_fact("loss_chunks").value_or(1);
}

void take_recomputation(RowFacts& facts, StackSetup& setup) {
  const std::string_view written = facts.row().field("checkpointing");
  if (facts.fact("recomputation").empty()) {
    if (written.empty()) return facts.leave_open("checkpointing");
    return facts.refuse("unknown checkpointing", written);
  }
  take_word(facts, "recomputation", parse_recomputation, setup.recomputation);
  setup.every = facts.whole_fact("every").value_or(1);
}

/// States that are projected, narrow or paged.
void take_optimizer_form(RowFacts& facts, StackSetup& setup) {
  if (!facts.fact("projection").empty()) take_word(facts, "projection", parse_projection, setup.optimizer_form);
  setup.optimizer_form.bits = static_cast<int>(facts.whole_fact("state_bits").value_or(0));
  setup.optimizer_form.paged = facts.is_true("paged_states");
}

void take_homes(RowFacts& facts, StackSetup& setup) {
  take_word(facts, "parameters", parse_home, setup.parameters);
  take_word(facts, "gradients", parse_home, setup.gradients);
  take_word(facts, "optimizer_home", parse_home, setup.optimizer);
  take_word(facts, "activations", parse_home, setup.activations);
  const bool patrickstar = facts.fact("placement") == "patrickstar";
  if (patrickstar) setup.manager = ChunkManager::kPatrickStar;
  setup.automatic_placement = patrickstar || facts.fact("placement") == "auto";
}

/// The machine around the GPU: what a system keeps and updates there.
void take_machine(RowFacts& facts, StackSetup& setup) {
  constexpr double kGigabyte = 1e9;  // as sources print it
  constexpr double kMostGigabytes = 1e9, kMostCores = 1e6;
  const auto bounded = [&](std::string_view key, double most) {
    const auto number = facts.number_fact(key);
    if (number && *number > most) facts.refuse("unreadable fact", fmt::format("{} is '{}'", key, facts.fact(key)));
    return number && *number <= most ? number : std::nullopt;
  };
  setup.dram_gbs = facts.number_fact("dram").value_or(0);
  setup.drive_read_gbs = facts.number_fact("drive_read").value_or(0);
  setup.drive_write_gbs = facts.number_fact("drive_write").value_or(0);
  setup.drives = std::max<std::int64_t>(1, static_cast<std::int64_t>(bounded("drives", kMostCores).value_or(1)));
  setup.drive_uplink_gbs = facts.number_fact("drive_uplink").value_or(0);
  setup.host_cores = static_cast<std::int64_t>(bounded("cores", kMostCores).value_or(0));
  if (const auto bytes = bounded("host_memory", kMostGigabytes)) setup.host_memory = Bytes(static_cast<std::int64_t>(*bytes * kGigabyte));
  if (const auto bytes = facts.whole_fact("device_memory")) setup.device_memory = Bytes(*bytes);
  if (!facts.fact("strategy").empty()) setup.strategy = facts.fact("strategy");
}

/// A plan of ours, as `plimsoll report` writes it.
void take_plan(RowFacts& facts, StackSetup& setup) {
  if (facts.fact("plan").empty()) return;
  for (const std::string_view key : {"recompute_every", "parameters", "optimizer", "gradients", "activations", "staging_slots"}) {
    if (facts.fact("plan").find(fmt::format("\"{}\"", key)) == std::string_view::npos) return facts.refuse("unreadable plan", fmt::format("it lacks {}", key));
  }
  const auto plan = read_strategy_line(facts.fact("plan"), "notes");
  if (!plan) return facts.refuse("unreadable plan", plan.error().what);
  setup.plan = *plan;
}

/// Ranks of data parallelism are what tensor parallelism and stages leave of all GPUs.
void take_ranks(RowFacts& facts, StackSetup& setup) {
  setup.tensor_ranks = facts.whole("tp", "tensor_ranks").value_or(1);
  setup.stages = facts.whole("pp", "stages").value_or(1);
  setup.sequence_parallel = facts.is_true("sequence_parallel");
  setup.context_ranks = facts.whole_fact("context_ranks").value_or(1);
  setup.expert_ranks = facts.whole_fact("expert_ranks").value_or(1);
  setup.optimizer_instances = std::max<std::int64_t>(1, facts.whole_fact("optimizer_instances").value_or(1));
  setup.expert_tensor_ranks = facts.whole_fact("expert_tensor_ranks");
  if (facts.fact("told_stage") == "last") setup.stage = setup.stages - 1;
  const std::int64_t inner = std::max<std::int64_t>(1, setup.tensor_ranks * setup.stages * setup.context_ranks);
  // 0: what the GPUs leave; 1 where each of them trains a model of its own.
  const std::int64_t named = facts.is_true("independent") ? 1 : facts.whole("dp", "data_ranks").value_or(0);
  const std::int64_t gpus = named != 0 ? named * inner : facts.whole_or_open("n_gpu", "gpus", inner, "number of GPUs");
  setup.data_ranks = gpus / inner;
  if (gpus % inner != 0) {
    facts.refuse("contradictory ranks", fmt::format("{} GPUs are no multiple of {} x {} x {}", gpus, setup.tensor_ranks, setup.stages,
                                                    setup.context_ranks));
  }
  setup.zero = static_cast<int>(facts.whole_fact("zero").value_or(0));
  if (facts.fact("zero").empty() && setup.data_ranks > 1) facts.leave_open("sharding");
}

/// What the GPUs stand on, where a source says it: how many are on a node, and what joins nodes.
void take_nodes(RowFacts& facts, StackSetup& setup) {
  setup.network = facts.fact("network");
  const auto node = facts.whole_fact("node_gpus");
  if (!node || *node == 0) return;
  const std::int64_t gpus = stated_gpus(setup);
  setup.nodes = std::max<std::int64_t>(1, gpus / *node);
  if (gpus % *setup.nodes != 0) facts.refuse("contradictory ranks", fmt::format("{} GPUs on nodes of {}", gpus, *node));
}

/// Layers of an interleaved chunk, as Megatron-LM is told them.
void take_chunks(RowFacts& facts, StackSetup& setup, std::int64_t layers) {
  const auto chunk = facts.whole_fact("chunk_layers");
  if (!chunk || *chunk == 0) return;
  if (layers % (setup.stages * *chunk) != 0) return facts.refuse("contradictory ranks", fmt::format("{} layers in chunks of {}", layers, *chunk));
  setup.chunks = layers / (setup.stages * *chunk);
}

}  // namespace

StackSetup state_setup(RowFacts& facts, std::int64_t layers) {
  StackSetup setup;
  take_flags(facts, setup);
  take_software(facts, setup);
  take_adapter(facts, setup);
  take_parts(facts, setup);
  take_word(facts, "os", parse_operating_system, setup.os);
  take_recomputation(facts, setup);
  if (facts.fact("loop").empty()) facts.leave_open("the optimizer's loop");
  take_word(facts, "loop", parse_optimizer_loop, setup.loop);
  take_optimizer_form(facts, setup);
  take_homes(facts, setup);
  take_machine(facts, setup);
  take_plan(facts, setup);
  take_ranks(facts, setup);
  take_nodes(facts, setup);
  take_chunks(facts, setup, layers);
  return setup;
}

}  // namespace plimsoll
