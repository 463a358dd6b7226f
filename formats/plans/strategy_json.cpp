#include "formats/plans/strategy_json.h"

#include "formats/text/json_text.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

constexpr int kStrategyVersion = 1;

JsonLine fields(JsonLine line, const Strategy& s) {
  line.text("name", s.name).integer("recompute_every", s.recompute_every).integer("kept_outputs", s.kept_outputs);
  line.text("parameters", to_text(s.parameters)).integer("device_parameter_blocks", s.device_parameter_blocks);
  line.text("optimizer", to_text(s.optimizer)).integer("device_state_blocks", s.device_state_blocks);
  line.text("gradients", to_text(s.gradients)).text("activations", to_text(s.activations));
  line.integer("activation_blocks", s.activation_blocks).integer("host_activation_blocks", s.host_activation_blocks);
  line.text("loop_order", to_text(s.loop_order));
  line.flag("update_in_backward", s.update_in_backward).integer("host_state_blocks", s.host_state_blocks);
  line.integer("device_update_blocks", s.device_update_blocks);
  line.integer("staging_slots", s.staging_slots).flag("overlap", s.overlap);
  return line;
}

}  // namespace

std::string write_strategy_fields(const Strategy& strategy) { return fields({}, strategy).str(); }

std::string write_strategy(const Strategy& strategy) {
  JsonLine line;
  return fields(line.integer("format_version", kStrategyVersion), strategy).str() + "\n";
}

Strategy read_strategy_fields(const JsonNode& node) {
  node.allow_only({"format_version", "name", "recompute_every", "kept_outputs", "parameters", "device_parameter_blocks",
                   "optimizer", "device_state_blocks", "gradients", "activations", "activation_blocks",
                   "host_activation_blocks", "loop_order", "update_in_backward", "host_state_blocks",
                   "device_update_blocks", "staging_slots", "overlap"});
  constexpr std::int64_t kMostLayers = 100000;
  constexpr std::int64_t kMostSlots = 4096;
  Strategy s;
  s.name = node.text_or("name", s.name);
  s.recompute_every = node.integer_or("recompute_every", s.recompute_every, 0, kMostLayers);
  s.kept_outputs = node.integer_or("kept_outputs", s.kept_outputs, 0, kMostLayers);
  s.device_parameter_blocks = node.integer_or("device_parameter_blocks", s.device_parameter_blocks, 0, kMostLayers);
  s.device_state_blocks = node.integer_or("device_state_blocks", s.device_state_blocks, 0, kMostLayers);
  s.host_activation_blocks = node.integer_or("host_activation_blocks", s.host_activation_blocks, 0, kMostLayers);
  s.parameters = enum_or(node, "parameters", s.parameters, Tier::kSsd);
  s.optimizer = enum_or(node, "optimizer", s.optimizer, Tier::kSsd);
  s.gradients = enum_or(node, "gradients", s.gradients, Tier::kSsd);
  s.activations = enum_or(node, "activations", s.activations, Tier::kSsd);
  s.activation_blocks = node.integer_or("activation_blocks", s.activation_blocks, 0, kMostLayers);
  s.loop_order = enum_or(node, "loop_order", s.loop_order, LoopOrder::kBreadthFirst);
  s.update_in_backward = node.boolean_or("update_in_backward", s.update_in_backward);
  s.host_state_blocks = node.integer_or("host_state_blocks", s.host_state_blocks, 0, kMostLayers);
  s.device_update_blocks = node.integer_or("device_update_blocks", s.device_update_blocks, 0, kMostLayers);
  s.staging_slots = node.integer_or("staging_slots", s.staging_slots, 1, kMostSlots);
  s.overlap = node.boolean_or("overlap", s.overlap);
  return s;
}

namespace {

Result<Strategy> read_object(std::string_view text, const std::string& where, bool versioned) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  if (versioned) read_format_version(node, kStrategyVersion);
  const Strategy strategy = read_strategy_fields(node);
  if (fault.error) return fail(*fault.error);
  return strategy;
}

}  // namespace

Result<Strategy> read_strategy(std::string_view text, const std::string& where) { return read_object(text, where, true); }

Result<Strategy> read_strategy_line(std::string_view text, const std::string& where) { return read_object(text, where, false); }

}  // namespace plimsoll
