#include "formats/plans/model_json.h"

#include "formats/text/json_text.h"

namespace plimsoll {

std::string write_model(const ModelSpec& s) {
  JsonLine line;
  if (s == ModelSpec{.name = s.name}) return line.text("name", s.name).str();
  line.text("name", s.name).text("family", to_text(s.family)).integer("layers", s.layers).integer("hidden", s.hidden);
  line.integer("heads", s.heads).integer("kv_heads", s.kv_heads).integer("head_dim", s.head_dim).integer("ffn", s.ffn);
  line.integer("vocabulary", s.vocabulary).integer("max_positions", s.max_positions).text("norm", to_text(s.norm));
  line.text("activation", to_text(s.activation)).text("positions", to_text(s.positions)).flag("tied_head", s.tied_head);
  line.flag("attention_bias", s.attention_bias).flag("mlp_bias", s.mlp_bias).number("norm_epsilon", s.norm_epsilon);
  return line.number("rope_theta", s.rope_theta).str();
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
  return line.str();
}

bool names_model(const JsonNode& node) { return node.has("family"); }

ModelSpec read_model(const JsonNode& node) {
  node.allow_only({"name", "family", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary",
                   "max_positions", "norm", "activation", "positions", "tied_head", "attention_bias", "mlp_bias",
                   "norm_epsilon", "rope_theta"});
  if (!names_model(node)) {
    node.allow_only({"name"});
    return {.name = node.text_or("name", "")};
  }
  ModelSpec s = family_defaults(enum_of(node.at("family"), Family::kLlama));
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
  s.norm = enum_or(node, "norm", s.norm, NormKind::kRmsNorm);
  s.activation = enum_or(node, "activation", s.activation, ActivationKind::kSwiGlu);
  s.positions = enum_or(node, "positions", s.positions, PositionKind::kRope);
  s.tied_head = node.boolean_or("tied_head", s.tied_head);
  s.attention_bias = node.boolean_or("attention_bias", s.attention_bias);
  s.mlp_bias = node.boolean_or("mlp_bias", s.mlp_bias);
  s.norm_epsilon = node.number_or("norm_epsilon", s.norm_epsilon);
  s.rope_theta = node.number_or("rope_theta", s.rope_theta);
  return s;
}

Recipe read_recipe(const JsonNode& node) {
  node.allow_only({"precision", "matmul", "optimizer", "micro_batch", "accumulate", "sequence", "learning_rate",
                   "schedule", "warmup_steps", "total_steps", "weight_decay", "beta1", "beta2", "epsilon", "clip",
                   "seed"});
  Recipe r;
  r.precision = enum_or(node, "precision", r.precision, Precision::kFp64);
  r.matmul = enum_or(node, "matmul", r.matmul, MatmulLibrary::kOpenBlas);
  r.optimizer = enum_or(node, "optimizer", r.optimizer, OptimizerKind::kAdamW);
  r.micro_batch = node.integer_or("micro_batch", r.micro_batch, 0, kMaxParsedCount);
  r.accumulate = node.integer_or("accumulate", r.accumulate, 0, kMaxParsedCount);
  r.sequence = node.integer_or("sequence", r.sequence, 0, kMaxParsedCount);
  r.learning_rate = node.number_or("learning_rate", r.learning_rate);
  r.schedule = enum_or(node, "schedule", r.schedule, LrSchedule::kCosine);
  r.warmup_steps = node.integer_or("warmup_steps", r.warmup_steps, 0, kMaxParsedCount);
  r.total_steps = node.integer_or("total_steps", r.total_steps, 0, kMaxParsedCount);
  r.weight_decay = node.number_or("weight_decay", r.weight_decay);
  r.beta1 = node.number_or("beta1", r.beta1);
  r.beta2 = node.number_or("beta2", r.beta2);
  r.epsilon = node.number_or("epsilon", r.epsilon);
  r.clip = node.number_or("clip", r.clip);
  if (node.has("seed")) r.seed = node.at("seed").natural();
  return r;
}

}  // namespace plimsoll
