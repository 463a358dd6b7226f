#include "sim/validation/row_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::string_view kKeys[] = {
    "family", "note", "stack", "modules", "compile", "compile_loss", "attention", "recomputation", "every", "loop",
    "projection", "state_bits", "paged_states", "dropout", "zero", "data_ranks", "independent", "tensor_ranks",
    "stages", "expert_ranks", "expert_tensor_ranks", "gathers_tokens", "wide_gates", "adds_in_order", "optimizer_instances", "chunk_layers", "told_stage", "deterministic", "engine", "rope_fusion", "context_ranks", "sequence_parallel",
    "parameters", "gradients", "optimizer_home", "activations", "expandable", "channels_last", "os", "desktop", "clip",
    "less", "loss_chunks", "update_in_backward", "keeps_gradients", "delayed_update", "eager_modules", "reduce_bucket",
    "overlap", "autocasts", "whole_gradients", "grouped_experts", "half_weights", "legacy_kernels", "older_cublas",
    "older_inductor", "older_softmax", "tiled_mlp", "liger", "fused_head", "half_logits", "lets_logits_go",
    "holds_scores", "flash3", "older_sdpa", "counted", "separate_ends", "recomputes_attention", "reduces_in_half",
    "fp8", "fp8_parameters", "fp8_wide_ends", "stops_early", "predicted_positions", "precision", "narrow_products",
    "keeps_wide", "optimizer", "accumulate", "micro_batch", "global_batch", "sequence", "true_sequence", "lora_rank",
    "lora_targets", "base_bits", "kbit_preparation", "plain_scales", "older_bitsandbytes", "narrow_adapters", "lora_dropout",
    "adapter_method", "train_also", "virtual_tokens", "gpu", "gpus", "node_gpus", "network", "model", "layers",
    "hidden", "experts", "experts_per_token", "expert_ffn", "shared_ffn", "q_rank", "kv_rank", "plain_dim", "rope_dim", "value_dim", "gating", "expert_capacity", "router_loss", "heads", "kv_heads", "ffn", "vocab", "positions", "bias", "tied", "position", "activation", "norm", "qk_norm", "rotary_dim",
    "classes", "image", "measure", "unit",
    "rate", "samples", "summed", "flops", "peak_tflops", "params", "held_before", "kept_from", "dram", "drive_read",
    "drive_write", "drives", "drive_uplink", "cores", "host_memory", "device_memory", "placement", "strategy", "plan",
    "batch_is"};

/// What rows of our own reports say among their notes.
constexpr std::string_view kNoted[] = {"accumulate", "clip", "device_memory", "host_memory", "cores", "drive_read", "drive_write", "plan"};

}  // namespace

const std::vector<std::string_view>& row_fact_keys() {
  static const std::vector<std::string_view> keys(std::begin(kKeys), std::end(kKeys));
  return keys;
}

std::optional<std::int64_t> RowFacts::whole(std::string_view column, std::string_view key) {
  const std::string_view text = row_.field(column);
  if (text.empty()) return whole_fact(key);
  const auto number = row_.whole(column);
  if (!number && !fact(key).empty()) return whole_fact(key);  // a table has read the column
  if (!number) refuse("unreadable column", fmt::format("{} is '{}'", column, text.substr(0, 40)));
  return number;
}

std::optional<std::int64_t> RowFacts::whole_fact(std::string_view key) {
  const auto number = number_fact(key);
  if (!number) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> RowFacts::number_fact(std::string_view key) {
  if (fact(key).empty()) return std::nullopt;
  const auto number = parse_number(fact(key));
  if (!number || *number < 0 || *number > 9e15) refuse("unreadable fact", fmt::format("{} is '{}'", key, fact(key)));
  return number && *number >= 0 && *number <= 9e15 ? number : std::nullopt;
}

std::int64_t RowFacts::whole_or_open(std::string_view column, std::string_view key, std::int64_t assumed, std::string_view what) {
  const auto known = whole(column, key);
  if (!known) leave_open(what);
  return known.value_or(assumed);
}

void RowFacts::take_notes() {
  std::string_view notes = row_.field("notes");
  std::vector<std::string_view> known;
  while (!notes.empty()) {
    std::string_view piece = notes.substr(0, notes.find(';'));
    notes.remove_prefix(std::min(piece.size() + 1, notes.size()));
    piece.remove_prefix(std::min(piece.find_first_not_of(' '), piece.size()));
    const std::size_t space = std::min(piece.find(' '), piece.size());
    const std::string_view key = piece.substr(0, space);
    if (std::find(std::begin(kNoted), std::end(kNoted), key) == std::end(kNoted)) continue;
    if (std::find(known.begin(), known.end(), key) != known.end()) refuse("contradictory notes", fmt::format("'{}' twice", key));
    known.push_back(key);
    std::erase_if(reading_.facts, [&](const auto& fact) { return fact.first == key; });
    reading_.facts.emplace_back(key, piece.substr(std::min(space + 1, piece.size())));
  }
  if (std::find(known.begin(), known.end(), "plan") == known.end()) leave_open("plan");
}

void RowFacts::refuse(std::string_view kind, std::string_view detail) {
  reading_.refusals.push_back(detail.empty() ? std::string(kind) : fmt::format("{}: {}", kind, detail));
}

void RowFacts::leave_open(std::string_view what) {
  if (std::find(reading_.open.begin(), reading_.open.end(), what) == reading_.open.end()) reading_.open.emplace_back(what);
}

}  // namespace plimsoll
