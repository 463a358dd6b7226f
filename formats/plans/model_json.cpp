#include "formats/plans/model_json.h"

#include "formats/text/json_text.h"

namespace plimsoll {

namespace {

std::string write_experts(const ExpertSpec& e) {
  JsonLine line;
  line.integer("count", e.count).integer("per_token", e.per_token).text("gating", to_text(e.gating)).integer("every", e.every);
  line.integer("width", e.width).number("capacity", e.capacity).integer("groups", e.groups).number("balance", e.balance);
  line.number("load", e.load).number("dropout", e.dropout);
  if (e.dense_first != 0) line.integer("dense_first", e.dense_first);
  if (e.shared_width != 0) line.integer("shared_width", e.shared_width);
  if (e.shared_gate) line.flag("shared_gate", true);
  if (e.router_bias) line.flag("router_bias", true);
  if (e.plain_gates) line.flag("plain_gates", true);
  if (e.sigmoid_scores) line.flag("sigmoid_scores", true);
  return line.str();
}

ExpertSpec read_experts(const JsonNode& node) {
  node.allow_only({"count", "per_token", "gating", "every", "width", "capacity", "groups", "balance", "load", "dropout",
                   "dense_first", "shared_width", "shared_gate", "router_bias", "plain_gates", "sigmoid_scores"});
  const auto size_or = [&](std::string_view key, std::int64_t absent) {
    return node.integer_or(key, absent, 0, kMaxParsedCount);
  };
  ExpertSpec e = gating_defaults(enum_of(node.at("gating"), GatingKind::kNoisy));
  e.count = node.at("count").integer(0, kMaxParsedCount);
  e.per_token = size_or("per_token", e.per_token);
  e.every = size_or("every", e.every);
  e.width = size_or("width", e.width);
  e.capacity = node.number_or("capacity", e.capacity);
  e.groups = size_or("groups", e.groups);
  e.balance = node.number_or("balance", e.balance);
  e.load = node.number_or("load", e.load);
  e.dropout = node.number_or("dropout", e.dropout);
  e.dense_first = size_or("dense_first", 0);
  e.shared_width = size_or("shared_width", 0);
  e.shared_gate = node.boolean_or("shared_gate", false);
  e.router_bias = node.boolean_or("router_bias", false);
  e.plain_gates = node.boolean_or("plain_gates", false);
  e.sigmoid_scores = node.boolean_or("sigmoid_scores", false);
  return e;
}

void write_encoder_fields(JsonLine& line, const ModelSpec& s) {
  if (!s.causal) line.flag("causal", false);
  if (s.post_norm) line.flag("post_norm", true);
  if (s.embedding_norm) line.flag("embedding_norm", true);
  if (s.token_types != 0) line.integer("token_types", s.token_types);
  if (s.head != HeadKind::kNextToken) line.text("head", to_text(s.head));
  if (s.classes != 0) line.integer("classes", s.classes);
  if (s.pooler) line.flag("pooler", true);
  if (s.mask_token != -1) line.integer("mask_token", s.mask_token);
  if (!s.reads_images()) return;
  const auto triple = [](const std::array<double, 3>& values) {
    return json_list({json_number(values[0]), json_number(values[1]), json_number(values[2])});
  };
  line.integer("image_size", s.image.size).integer("patch_size", s.image.patch).integer("channels", s.image.channels);
  line.raw("image_mean", triple(s.image.mean)).raw("image_deviation", triple(s.image.deviation));
}

void read_triple(const JsonNode& node, std::string_view key, std::array<double, 3>& values) {
  const auto elements = node.elements_of(key);
  if (elements.empty()) return;
  if (elements.size() != values.size()) return node.at(key).fault("expected three numbers");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = elements[i].number();
}

/// What a plan does not say is as in a decoder, whatever the family.
void read_encoder_fields(const JsonNode& node, ModelSpec& s) {
  s.causal = node.boolean_or("causal", true);
  s.post_norm = node.boolean_or("post_norm", false);
  s.embedding_norm = node.boolean_or("embedding_norm", false);
  s.token_types = node.integer_or("token_types", 0, 0, kMaxParsedCount);
  s.head = enum_or(node, "head", HeadKind::kNextToken, HeadKind::kClass);
  s.classes = node.integer_or("classes", 0, 0, kMaxParsedCount);
  s.pooler = node.boolean_or("pooler", false);
  s.mask_token = node.integer_or("mask_token", -1, -1, kMaxParsedCount);
  s.image = {.size = node.integer_or("image_size", 0, 0, kMaxParsedCount),
             .patch = node.integer_or("patch_size", 0, 0, kMaxParsedCount),
             .channels = node.integer_or("channels", 0, 0, kMaxParsedCount)};
  read_triple(node, "image_mean", s.image.mean);
  read_triple(node, "image_deviation", s.image.deviation);
}

/// What only some optimizers read.
void write_rule(JsonLine& line, const Recipe& r) {
  const OptimizerRule& rule = rule_of(r.optimizer);
  if (rule.momentum > 0) line.number("momentum", r.momentum);
  if (rule.nesterov) line.flag("nesterov", r.nesterov);
  if (rule.trust > 0) line.number("trust", r.trust);
  if (rule.relative_step) line.flag("relative_step", r.relative_step);
}

std::string write_conv(const ConvNet& net) {
  std::vector<std::string> depths;
  for (const std::int64_t depth : net.depths) depths.push_back(std::to_string(depth));
  JsonLine line;
  line.text("kind", to_text(net.kind)).raw("depths", json_list(depths)).flag("bottleneck", net.bottleneck);
  line.integer("width", net.width).integer("groups", net.groups).flag("batch_norm", net.batch_norm);
  return line.integer("growth", net.growth).str();
}

ConvNet read_conv(const JsonNode& node) {
  node.allow_only({"kind", "depths", "bottleneck", "width", "groups", "batch_norm", "growth"});
  ConvNet net{.kind = enum_of(node.at("kind"), ConvNetKind::kDenseNet)};
  for (const JsonNode& depth : node.at("depths").elements()) net.depths.push_back(depth.integer(0, kMaxParsedCount));
  net.bottleneck = node.boolean_or("bottleneck", false);
  net.width = node.integer_or("width", net.width, 0, kMaxParsedCount);
  net.groups = node.integer_or("groups", 1, 0, kMaxParsedCount);
  net.batch_norm = node.boolean_or("batch_norm", false);
  net.growth = node.integer_or("growth", 0, 0, kMaxParsedCount);
  return net;
}

void write_architecture(JsonLine& line, const ModelSpec& s) {
  if (!s.norm_bias) line.flag("norm_bias", false);
  if (s.parallel_norms) line.flag("parallel_norms", true);
  if (s.rope_interleaved) line.flag("rope_interleaved", true);
  if (s.embedding_width != 0) line.integer("embedding_width", s.embedding_width);
  if (s.position_offset != 0) line.integer("position_offset", s.position_offset);
  if (s.decoder_layers != 0) line.integer("decoder_layers", s.decoder_layers);
  if (s.relative_buckets != 0) line.integer("relative_buckets", s.relative_buckets);
  if (s.is_conv_net()) line.raw("conv", write_conv(s.conv));
}

/// What a plan does not say is as in a plain decoder, whatever the family.
void read_architecture(const JsonNode& node, ModelSpec& s) {
  const auto size = [&](std::string_view key) { return node.integer_or(key, 0, 0, kMaxParsedCount); };
  s.norm_bias = node.boolean_or("norm_bias", true);
  s.parallel_norms = node.boolean_or("parallel_norms", false);
  s.rope_interleaved = node.boolean_or("rope_interleaved", false);
  s.embedding_width = size("embedding_width");
  s.position_offset = size("position_offset");
  s.decoder_layers = size("decoder_layers");
  s.relative_buckets = size("relative_buckets");
  if (node.has("conv")) s.conv = read_conv(node.at("conv"));
}

void write_adaptive(JsonLine& line, const AdaptiveVocabulary& adaptive) {
  if (!adaptive.exists()) return;
  std::vector<std::string> cutoffs;
  for (const std::int64_t cutoff : adaptive.cutoffs) cutoffs.push_back(std::to_string(cutoff));
  line.raw("cutoffs", json_list(cutoffs)).integer("divisor", adaptive.divisor);
}

void read_adaptive(const JsonNode& node, AdaptiveVocabulary& adaptive) {
  adaptive = {};
  for (const JsonNode& cutoff : node.elements_of("cutoffs")) adaptive.cutoffs.push_back(cutoff.integer(0, kMaxParsedCount));
  adaptive.divisor = node.integer_or("divisor", 1, 1, kMaxParsedCount);
}

void write_newer_fields(JsonLine& line, const ModelSpec& s) {
  if (s.norm_place != NormPlace::kBefore) line.text("norm_place", to_text(s.norm_place));
  if (!s.norm_weight) line.flag("norm_weight", false);
  if (s.wide_qk_norm) line.flag("wide_qk_norm", true);
  if (s.score_cap != 0) line.number("score_cap", s.score_cap);
  if (s.logit_cap != 0) line.number("logit_cap", s.logit_cap);
  if (s.full_every != 0) line.integer("full_every", s.full_every);
  if (s.local_rope_theta != 0) line.number("local_rope_theta", s.local_rope_theta);
  if (s.sinks) line.flag("sinks", true);
  if (s.other_arithmetic) line.flag("other_arithmetic", true);
  if (s.memory != 0) line.integer("memory", s.memory);
  write_adaptive(line, s.adaptive);
  if (!s.latent.exists()) return;
  line.integer("latent_q_rank", s.latent.q_rank).integer("latent_kv_rank", s.latent.kv_rank);
  line.integer("latent_plain_dim", s.latent.plain_dim).integer("latent_rope_dim", s.latent.rope_dim);
  line.integer("latent_value_dim", s.latent.value_dim);
}

void read_newer_fields(const JsonNode& node, ModelSpec& s) {
  const auto size = [&](std::string_view key) { return node.integer_or(key, 0, 0, kMaxParsedCount); };
  s.norm_place = enum_or(node, "norm_place", NormPlace::kBefore, NormPlace::kBehind);
  s.norm_weight = node.boolean_or("norm_weight", true);
  s.wide_qk_norm = node.boolean_or("wide_qk_norm", false);
  s.score_cap = node.number_or("score_cap", 0);
  s.logit_cap = node.number_or("logit_cap", 0);
  s.full_every = size("full_every");
  s.local_rope_theta = node.number_or("local_rope_theta", 0);
  s.sinks = node.boolean_or("sinks", false);
  s.other_arithmetic = node.boolean_or("other_arithmetic", false);
  s.memory = size("memory");
  read_adaptive(node, s.adaptive);
  s.latent = {.q_rank = size("latent_q_rank"), .kv_rank = size("latent_kv_rank"), .plain_dim = size("latent_plain_dim"),
              .rope_dim = size("latent_rope_dim"), .value_dim = size("latent_value_dim")};
}

/// Only what differs from what a plan without the key means.
void write_later_fields(JsonLine& line, const ModelSpec& s) {
  if (s.projection_bias != s.qkv_bias) line.flag("projection_bias", s.projection_bias);
  if (s.head_bias) line.flag("head_bias", true);
  if (s.qk_norm) line.flag("qk_norm", true);
  if (s.parallel_block) line.flag("parallel_block", true);
  if (s.rotary_dim != 0) line.integer("rotary_dim", s.rotary_dim);
  if (s.embedding_scale != 1) line.number("embedding_scale", s.embedding_scale);
  if (s.window != 0) line.integer("window", s.window);
  if (s.experts.count > 0) line.raw("experts", write_experts(s.experts));
  write_architecture(line, s);
  write_newer_fields(line, s);
  write_encoder_fields(line, s);
  const RopeScaling& r = s.rope_scaling;
  if (r == RopeScaling{}) return;
  line.text("rope_scaling", to_text(r.kind)).number("rope_factor", r.factor).number("rope_low_frequency", r.low_frequency);
  line.number("rope_high_frequency", r.high_frequency).number("rope_original_positions", r.original_positions);
}

void read_later_fields(const JsonNode& node, ModelSpec& s) {
  s.projection_bias = node.boolean_or("projection_bias", s.qkv_bias);
  s.head_bias = node.boolean_or("head_bias", false);
  s.qk_norm = node.boolean_or("qk_norm", false);
  s.parallel_block = node.boolean_or("parallel_block", false);
  s.rotary_dim = node.integer_or("rotary_dim", 0, 0, kMaxParsedCount);
  s.embedding_scale = node.number_or("embedding_scale", 1);
  s.window = node.integer_or("window", 0, 0, kMaxParsedCount);
  if (node.has("experts")) s.experts = read_experts(node.at("experts"));
  read_architecture(node, s);
  read_newer_fields(node, s);
  read_encoder_fields(node, s);
  RopeScaling& r = s.rope_scaling;
  r.kind = enum_or(node, "rope_scaling", r.kind, RopeScalingKind::kLlama3);
  r.factor = node.number_or("rope_factor", r.factor);
  r.low_frequency = node.number_or("rope_low_frequency", r.low_frequency);
  r.high_frequency = node.number_or("rope_high_frequency", r.high_frequency);
  r.original_positions = node.number_or("rope_original_positions", r.original_positions);
}

std::string write_adapter(const AdapterSpec& adapter) {
  std::vector<std::string> targets;
  for (const AdapterTarget target : adapter.targets) targets.push_back(json_quote(to_text(target)));
  JsonLine line;
  line.integer("rank", adapter.rank).number("alpha", adapter.alpha).raw("targets", json_list(targets));
  if (adapter.base != BaseStorage::kCompute) line.text("base", to_text(adapter.base));
  return line.str();
}

AdapterSpec read_adapter(const JsonNode& node) {
  node.allow_only({"rank", "alpha", "targets", "base"});
  AdapterSpec adapter{.rank = node.at("rank").integer(1, kMaxParsedCount), .alpha = node.at("alpha").number(0)};
  for (const JsonNode& target : node.at("targets").elements()) {
    adapter.targets.push_back(enum_of(target, AdapterTarget::kDown));
  }
  adapter.base = enum_or(node, "base", adapter.base, BaseStorage::kNf4);
  return adapter;
}

}  // namespace

std::string write_model(const ModelSpec& s) {
  JsonLine line;
  if (s == ModelSpec{.name = s.name}) return line.text("name", s.name).str();
  line.text("name", s.name).text("family", to_text(s.family)).integer("layers", s.layers).integer("hidden", s.hidden);
  line.integer("heads", s.heads).integer("kv_heads", s.kv_heads).integer("head_dim", s.head_dim).integer("ffn", s.ffn);
  line.integer("vocabulary", s.vocabulary).integer("max_positions", s.max_positions).text("norm", to_text(s.norm));
  line.text("activation", to_text(s.activation)).text("positions", to_text(s.positions)).flag("tied_head", s.tied_head);
  line.flag("attention_bias", s.qkv_bias).flag("mlp_bias", s.mlp_bias).number("norm_epsilon", s.norm_epsilon);
  line.number("rope_theta", s.rope_theta);
  write_later_fields(line, s);
  return line.str();
}

std::string write_recipe(const Recipe& r) {
  JsonLine line;
  line.text("precision", to_text(r.precision))
      .text("matmul", to_text(r.matmul))
      .text("optimizer", to_text(r.optimizer));
  line.integer("micro_batch", r.micro_batch).integer("accumulate", r.accumulate).integer("sequence", r.sequence);
  line.number("learning_rate", r.learning_rate).text("schedule", to_text(r.schedule));
  line.integer("warmup_steps", r.warmup_steps).integer("total_steps", r.total_steps);
  line.number("weight_decay", r.weight_decay).number("beta1", r.beta1).number("beta2", r.beta2);
  line.number("epsilon", r.epsilon).number("clip", r.clip).raw("seed", std::to_string(r.seed));
  write_rule(line, r);
  if (r.delay != 0) line.integer("delay", r.delay);
  if (r.adapter.exists()) line.raw("lora", write_adapter(r.adapter));
  if (r.target_sequence > 0) line.integer("target_sequence", r.target_sequence);
  if (r.loss_scaling != LossScaling{}) line.text("loss_scale", to_text(r.loss_scaling));
  return line.str();
}

bool names_model(const JsonNode& node) { return node.has("family"); }

/// Kinds of layers, and what they have.
void read_kinds(const JsonNode& node, ModelSpec& s) {
  s.norm = enum_or(node, "norm", s.norm, NormKind::kRmsNormPlusOne);
  s.activation = enum_or(node, "activation", s.activation, ActivationKind::kSquaredRelu);
  s.positions = enum_or(node, "positions", s.positions, PositionKind::kDistance);
  s.tied_head = node.boolean_or("tied_head", s.tied_head);
  s.qkv_bias = node.boolean_or("attention_bias", s.qkv_bias);
  s.mlp_bias = node.boolean_or("mlp_bias", s.mlp_bias);
  s.norm_epsilon = node.number_or("norm_epsilon", s.norm_epsilon);
  s.rope_theta = node.number_or("rope_theta", s.rope_theta);
}

ModelSpec read_model(const JsonNode& node) {
  node.allow_only({"name", "family", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary",
                   "max_positions", "norm", "activation", "positions", "tied_head", "attention_bias", "mlp_bias",
                   "norm_epsilon", "rope_theta", "projection_bias", "head_bias", "qk_norm", "parallel_block", "rotary_dim",
                   "embedding_scale", "window", "experts", "rope_scaling", "rope_factor", "rope_low_frequency",
                   "rope_high_frequency", "rope_original_positions", "causal", "post_norm", "embedding_norm", "token_types",
                   "head", "classes", "pooler", "mask_token", "image_size", "patch_size", "channels", "image_mean",
                   "image_deviation", "norm_bias", "parallel_norms", "rope_interleaved", "embedding_width",
                   "position_offset", "decoder_layers", "relative_buckets", "conv", "norm_place", "norm_weight",
                   "wide_qk_norm", "score_cap", "logit_cap", "full_every", "local_rope_theta", "sinks", "other_arithmetic",
                   "memory", "cutoffs", "divisor",
                   "latent_q_rank", "latent_kv_rank", "latent_plain_dim", "latent_rope_dim", "latent_value_dim"});
  if (!names_model(node)) {
    node.allow_only({"name"});
    return {.name = node.text_or("name", "")};
  }
  ModelSpec s = family_defaults(enum_of(node.at("family"), kLastFamily));
  const auto size = [&](std::string_view key) { return node.at(key).integer(0, kMaxParsedCount); };
  const auto size_or = [&](std::string_view key, std::int64_t absent) {
    return node.integer_or(key, absent, 0, kMaxParsedCount);
  };
  s.name = node.text_or("name", "");
  s.layers = size("layers");
  s.hidden = size("hidden");
  s.heads = size("heads");
  s.kv_heads = size_or("kv_heads", s.heads);
  s.head_dim = size_or("head_dim", s.heads > 0 ? s.hidden / s.heads : 0);
  s.ffn = size_or("ffn", 4 * s.hidden);
  s.vocabulary = size("vocabulary");
  s.max_positions = size("max_positions");
  read_kinds(node, s);
  read_later_fields(node, s);
  return s;
}

Recipe read_recipe(const JsonNode& node) {
  node.allow_only({"precision", "matmul", "optimizer", "micro_batch", "accumulate", "sequence", "learning_rate",
                   "schedule", "warmup_steps", "total_steps", "weight_decay", "beta1", "beta2", "epsilon", "clip",
                   "seed", "momentum", "nesterov", "trust", "relative_step", "lora", "loss_scale", "target_sequence",
                   "delay"});
  Recipe r;
  r.precision = enum_or(node, "precision", r.precision, Precision::kTf32);
  r.matmul = enum_or(node, "matmul", r.matmul, MatmulLibrary::kOpenBlas);
  r.optimizer = enum_or(node, "optimizer", r.optimizer, OptimizerKind::kMuon);
  r.micro_batch = node.integer_or("micro_batch", r.micro_batch, 0, kMaxParsedCount);
  r.accumulate = node.integer_or("accumulate", r.accumulate, 0, kMaxParsedCount);
  r.sequence = node.integer_or("sequence", r.sequence, 0, kMaxParsedCount);
  r.target_sequence = node.integer_or("target_sequence", 0, 0, kMaxParsedCount);
  r.learning_rate = node.number_or("learning_rate", r.learning_rate);
  r.schedule = enum_or(node, "schedule", r.schedule, LrSchedule::kCosine);
  r.warmup_steps = node.integer_or("warmup_steps", r.warmup_steps, 0, kMaxParsedCount);
  r.total_steps = node.integer_or("total_steps", r.total_steps, 0, kMaxParsedCount);
  r.weight_decay = node.number_or("weight_decay", r.weight_decay);
  r.beta1 = node.number_or("beta1", r.beta1);
  r.beta2 = node.number_or("beta2", r.beta2);
  r.epsilon = node.number_or("epsilon", r.epsilon);
  r.clip = node.number_or("clip", r.clip);
  r.delay = node.integer_or("delay", r.delay, 0, 1);
  r.momentum = node.number_or("momentum", r.momentum);
  r.nesterov = node.boolean_or("nesterov", r.nesterov);
  r.trust = node.number_or("trust", r.trust);
  r.relative_step = node.boolean_or("relative_step", r.relative_step);
  if (node.has("seed")) r.seed = node.at("seed").natural();
  if (node.has("lora")) r.adapter = read_adapter(node.at("lora"));
  if (node.has("loss_scale")) {
    const auto scaling = parse_loss_scaling(node.at("loss_scale").text());
    if (!scaling) node.at("loss_scale").fault(scaling.error().what, scaling.error().remedy);
    r.loss_scaling = scaling.value_or(LossScaling{});
  }
  return r;
}

}  // namespace plimsoll
