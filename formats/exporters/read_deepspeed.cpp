#include "formats/exporters/read_deepspeed.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;

/// DeepSpeed's own, as its model here has them (sim/stack/sharing).
constexpr std::pair<const char*, std::int64_t> kUsual[] = {{"sub_group_size", 1'000'000'000},
                                                           {"stage3_param_persistence_threshold", 100'000},
                                                           {"stage3_max_reuse_distance", 1'000'000'000}};

/// Whether the key has a value of its own: "auto" leaves it to the training program.
bool stated(const JsonNode& node, std::string_view key) {
  if (!node.is_object() || !node.has(key) || node.at(key).is_null()) return false;
  return !node.at(key).is_text() || node.at(key).text() != "auto";
}

/// The same of a key whose value must be an object.
bool has_block(const JsonNode& node, std::string_view key) {
  if (!stated(node, key)) return false;
  if (!node.at(key).is_object()) node.at(key).fault("this is no object");
  return node.at(key).is_object();
}

std::optional<std::int64_t> whole(const JsonNode& node, std::string_view key, std::int64_t low) {
  if (!stated(node, key)) return std::nullopt;
  return node.at(key).integer(low, kMost);
}

std::optional<double> real(const JsonNode& node, std::string_view key) {
  if (!stated(node, key)) return std::nullopt;
  return node.at(key).number(0);
}

bool flag(const JsonNode& node, std::string_view key, bool absent) {
  return stated(node, key) ? node.at(key).boolean() : absent;
}

Tier tier(const JsonNode& node, std::string_view key) {
  if (!has_block(node, key)) return Tier::kDevice;
  const JsonNode of = node.at(key);
  if (!stated(of, "device")) return Tier::kDevice;
  return static_cast<Tier>(of.at("device").one_of({"none", "cpu", "nvme"}));
}

/// Nothing where the block is absent or leaves it to the training program.
std::optional<bool> enabled(const JsonNode& node, std::string_view block) {
  if (!has_block(node, block) || !stated(node.at(block), "enabled")) return std::nullopt;
  return node.at(block).at("enabled").boolean();
}

void read_precision(const JsonNode& node, DeepspeedConfiguration& read) {
  const std::optional<bool> fp16 = enabled(node, "fp16"), bfloat = enabled(node, "bf16");
  const bool half = fp16.value_or(false), bf16 = bfloat.value_or(false);
  if (half && bf16) return node.at("bf16").fault("fp16 and bf16 are both enabled", "enable one of them");
  if (!fp16 && !bfloat) return;
  read.precision = half ? Precision::kFp16Mixed : bf16 ? Precision::kBf16Mixed : Precision::kFp32;
  if (bf16 && flag(node.at("bf16"), "bf16_optimizer_states", false)) read.precision = Precision::kBf16;
  if (!half) return;
  const JsonNode of = node.at("fp16");
  const double fixed = real(of, "loss_scale").value_or(0);
  LossScaling scaling;
  scaling.start =
      fixed > 0 ? fixed : std::ldexp(1.0, static_cast<int>(of.integer_or("initial_scale_power", 16, 0, 60)));
  scaling.interval = fixed > 0 ? 0 : of.integer_or("loss_scale_window", 1000, 1, kMost);
  read.loss_scaling = scaling;
}

std::optional<OptimizerKind> kind_of(std::string type, const JsonNode& params) {
  for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (type == "adamw") return OptimizerKind::kAdamW;
  if (type == "adam") return flag(params, "adam_w_mode", true) ? OptimizerKind::kAdamW : OptimizerKind::kAdam;
  if (type == "sgd") return real(params, "momentum").value_or(0) > 0 ? OptimizerKind::kMomentum : OptimizerKind::kSgd;
  if (type == "lion") return OptimizerKind::kLion;
  if (type == "lamb") return OptimizerKind::kLamb;
  return std::nullopt;
}

void read_optimizer(const JsonNode& node, DeepspeedConfiguration& read) {
  if (!has_block(node, "optimizer")) return;
  const JsonNode of = node.at("optimizer");
  if (!stated(of, "type")) return;
  static const nlohmann::json kNone = nlohmann::json::object();
  JsonFault unused{.where = {}, .error = {}};
  const JsonNode params = has_block(of, "params") ? of.at("params") : JsonNode(kNone, "", unused);
  read.optimizer = kind_of(of.at("type").text(), params);
  if (!read.optimizer)
    of.at("type").fault("no optimizer of that name is modelled", "known: AdamW, Adam, SGD, Lion, Lamb");
  read.learning_rate = real(params, "lr");
  read.weight_decay = real(params, "weight_decay");
  read.epsilon = real(params, "eps");
  if (read.optimizer == OptimizerKind::kMomentum) read.momentum = real(params, "momentum");
  if (!stated(params, "betas")) return;
  for (const JsonNode& beta : params.elements_of("betas")) read.betas.push_back(beta.number(0));
  if (read.betas.size() != 2) params.at("betas").fault("betas are two numbers");
}

void read_zenflow(const JsonNode& zero, DeepspeedConfiguration& read) {
  if (!has_block(zero, "zenflow")) return;
  const JsonNode of = zero.at("zenflow");
  read.training.selected_share = real(of, "topk_ratio").value_or(0.1);
  read.training.update_every = whole(of, "update_interval", 1).value_or(4);
}

void read_zero(const JsonNode& node, DeepspeedConfiguration& read) {
  ExportedTraining& training = read.training;
  if (!has_block(node, "zero_optimization")) return;
  const JsonNode zero = node.at("zero_optimization");
  training.zero = static_cast<int>(zero.integer_or("stage", 0, 0, 3));
  training.optimizer = tier(zero, "offload_optimizer");
  training.parameters = tier(zero, "offload_param");
  training.updates_away = training.optimizer == Tier::kDevice ? 0 : 1;
  training.parameters_away = training.parameters == Tier::kDevice ? 0 : 1;
  if (training.optimizer != Tier::kDevice) {
    training.updates_away = real(zero.at("offload_optimizer"), "ratio").value_or(1);
    if (training.updates_away > 1) zero.at("offload_optimizer").at("ratio").fault("a share is at most 1");
    if (training.zero == 0) zero.at("offload_optimizer").fault("stage 0 offloads nothing", "set stage 1, 2 or 3");
  }
  if (training.parameters != Tier::kDevice && training.zero != 3) {
    zero.at("offload_param").fault("only stage 3 offloads parameters", "set stage 3");
  }
  if (training.optimizer == Tier::kSsd && training.zero != 3)
    zero.at("offload_optimizer").fault("states on NVMe need stage 3", "set stage 3");
  training.reduce_bucket = whole(zero, "reduce_bucket_size", 1).value_or(500'000'000);
  training.overlaps = flag(zero, "overlap_comm", training.zero == 3);
  read_zenflow(zero, read);
  for (const auto& [key, usual] : kUsual) {
    const auto value = whole(zero, key, 0);
    if (training.zero == 3 && value && *value != usual)
      read.notes.push_back(fmt::format("{} {} is told as DeepSpeed's own {}", key, *value, usual));
  }
}

void read_batch(const JsonNode& node, DeepspeedConfiguration& read) {
  read.micro_batch = whole(node, "train_micro_batch_size_per_gpu", 1);
  read.accumulate = whole(node, "gradient_accumulation_steps", 1);
  read.global_batch = whole(node, "train_batch_size", 1);
  if (!read.global_batch || !read.micro_batch) return;
  const std::int64_t of_rank = *read.micro_batch * read.accumulate.value_or(1);
  if (*read.global_batch % of_rank != 0) {
    return node.at("train_batch_size")
        .fault(fmt::format("{} is no multiple of micro-batch times accumulation, {}", *read.global_batch, of_rank));
  }
  if (read.accumulate) read.training.data_ranks = *read.global_batch / of_rank;
}

}  // namespace

bool is_deepspeed(std::string_view text) {
  const auto document = parse_json(text, "");
  if (!document || !document->is_object()) return false;
  for (const char* key : {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu"}) {
    if (document->contains(key)) return true;
  }
  return false;
}

Result<DeepspeedConfiguration> read_deepspeed(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  DeepspeedConfiguration read;
  read.training.source = ExportSource::kDeepspeed;
  read_batch(node, read);
  read.clip = real(node, "gradient_clipping");
  read_precision(node, read);
  read_optimizer(node, read);
  read_zero(node, read);
  if (has_block(node, "activation_checkpointing")) {
    const JsonNode of = node.at("activation_checkpointing");
    read.checkpoints = whole(of, "number_checkpoints", 1);
    if (flag(of, "cpu_checkpointing", false)) read.training.activations = Tier::kHost;
  }
  if (fault.error) return fail(*fault.error);
  return read;
}

}  // namespace plimsoll
