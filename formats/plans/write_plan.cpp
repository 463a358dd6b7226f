#include <fmt/format.h>

#include <span>

#include "core/base/digest.h"
#include "formats/text/json_text.h"
#include "formats/machines/machine_json.h"
#include "formats/plans/model_json.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/plan_tables.h"
#include "formats/plans/strategy_json.h"

namespace plimsoll {
namespace {

std::string_view access_text(Access access) {
  switch (access) {
    case Access::kRead:
      return "r";
    case Access::kWrite:
      return "w";
    case Access::kReadWrite:
      return "rw";
  }
  return "?";
}

std::string write_shape(const OpShape& shape) {
  JsonLine line;
  const auto add = [&](std::string_view key, std::int64_t value) {
    if (value != 0) line.integer(key, value);
  };
  add("rows", shape.rows);
  add("inputs", shape.inputs);
  add("outputs", shape.outputs);
  add("sequence", shape.sequence);
  add("heads", shape.heads);
  add("kv_heads", shape.kv_heads);
  add("head_dim", shape.head_dim);
  add("positions", shape.positions);
  add("stride", shape.stride);
  if (shape.terms != 1) line.integer("terms", shape.terms);
  add("experts", shape.experts);
  add("choices", shape.choices);
  add("capacity", shape.capacity);
  add("groups", shape.groups);
  add("variant", shape.variant);
  if (shape.constant != 0) line.number("constant", shape.constant);
  return line.str();
}

std::string write_kernel(const Kernel& kernel, std::size_t id) {
  JsonLine line;
  line.integer("id", static_cast<std::int64_t>(id))
      .text("kind", to_text(kernel.kind))
      .text("dtype", to_text(kernel.dtype));
  return line.raw("shape", write_shape(kernel.shape)).str();
}

std::string write_buffer(const Buffer& buffer, const PlanTables& tables) {
  JsonLine line;
  line.text("name", buffer.name).raw("space", tables.spaces.write(buffer.space)).integer("offset", buffer.offset.count);
  line.integer("bytes", buffer.bytes.count);
  if (buffer.slots != 1) line.integer("slots", buffer.slots);
  line.text("category", to_text(buffer.category));
  if (buffer.persistent) line.flag("persistent", true);
  return line.str();
}

std::string write_arena(const Arena& arena, const PlanTables& tables) {
  JsonLine line;
  return line.raw("space", tables.spaces.write(arena.space)).integer("bytes", arena.bytes.count).str();
}

std::string write_state(const StateBinding& state, const PlanTables& tables) {
  JsonLine line;
  line.text("kind", to_text(state.kind)).integer("group", state.group.index);
  line.raw("buffer", tables.buffers.write(state.buffer));
  if (state.parts != 1) line.integer("part", state.part).integer("parts", state.parts);
  return line.str();
}

std::string write_use(const Use& use) {
  std::string rest = use.offset.count == 0 && use.age == 0 ? "" : fmt::format(", {}", use.offset.count);
  if (use.age != 0) rest += fmt::format(", {}", use.age);
  return fmt::format("[{}, \"{}\", {}{}]", use.target, access_text(use.access), use.bytes.count, rest);
}

std::string write_dependency(const Dependency& dependency) {
  if (dependency.local && dependency.distance == 0) return std::to_string(dependency.target);
  JsonLine line;
  line.integer(dependency.local ? "instruction" : "port", dependency.target);
  if (dependency.distance != 0) line.integer("distance", dependency.distance);
  return line.str();
}

template <typename Entry, typename Write>
std::string write_range(const std::vector<Entry>& all, std::uint32_t first, std::uint32_t count, Write write) {
  std::vector<std::string> items;
  for (const Entry& entry : std::span(all).subspan(first, count)) items.push_back(write(entry));
  return json_list(items);
}

std::string write_instruction(const Instruction& i, std::size_t id, const InstructionList& list,
                              const PlanTables& tables) {
  JsonLine line;
  line.integer("id", static_cast<std::int64_t>(id))
      .text("kind", to_text(i.kind))
      .raw("queue", tables.queues.write(i.queue));
  line.text("phase", to_text(i.phase));
  if (i.task != HostTask::kNone) line.text("task", to_text(i.task));
  if (i.kernel.valid()) line.integer("kernel", i.kernel.index);
  if (i.layer != -1) line.integer("layer", i.layer);
  if (i.use_count > 0) line.raw("uses", write_range(list.uses, i.first_use, i.use_count, write_use));
  if (i.dependency_count > 0) {
    line.raw("after", write_range(list.dependencies, i.first_dependency, i.dependency_count, write_dependency));
  }
  if (i.member_count > 0) {
    line.raw("members", write_range(list.members, i.first_member, i.member_count,
                                    [&](QueueId queue) { return tables.queues.write(queue); }));
  }
  if (i.guard != kNoGuard) line.integer("guard", i.guard);
  if (i.exchange.valid()) line.integer("exchange", i.exchange.index);
  return line.str();
}

std::string write_exchange(const Exchange& exchange, std::size_t id) {
  std::vector<std::string> ranks;
  for (const std::uint32_t rank : exchange.ranks) ranks.push_back(std::to_string(rank));
  JsonLine line;
  line.integer("id", static_cast<std::int64_t>(id)).text("kind", to_text(exchange.kind)).text("dtype", to_text(exchange.dtype));
  return line.integer("channel", exchange.channel).raw("ranks", json_list(ranks)).str();
}

std::string write_block(const Block& block, const PlanTables& tables) {
  std::vector<std::string> instructions;
  for (const Instruction& instruction : block.list.instructions) {
    instructions.push_back(write_instruction(instruction, instructions.size(), block.list, tables));
  }
  JsonLine line;
  line.text("name", block.name).integer("slots", block.slot_count).integer("ports", block.port_count);
  return line.raw("instructions", json_lines(instructions, 4)).str();
}

std::string write_binding(const Binding& binding, const PlanTables& tables) {
  const std::string base = tables.buffers.write(binding.base);
  return binding.stride == 0 ? base : fmt::format("[{}, {}]", base, binding.stride);
}

std::string write_port(const Port& port) {
  return port.stride == 0 ? std::to_string(port.base) : fmt::format("[{}, {}]", port.base, port.stride);
}

std::string write_call(const Call& call, const PlanTables& tables) {
  JsonLine line;
  line.raw("block", tables.blocks.write(call.block));
  if (call.repeat != 1) line.integer("repeat", call.repeat);
  if (call.micro_batch != 0) line.integer("micro_batch", call.micro_batch);
  if (call.layer != -1) line.integer("layer", call.layer);
  if (call.layer_stride != 0) line.integer("layer_stride", call.layer_stride);
  std::vector<std::string> bindings;
  for (const Binding& binding : call.bindings) bindings.push_back(write_binding(binding, tables));
  std::vector<std::string> ports;
  for (const Port& port : call.ports) ports.push_back(write_port(port));
  line.raw("bind", json_list(bindings));
  if (!ports.empty()) line.raw("ports", json_list(ports));
  return line.str();
}

std::string write_body(const Body& body, const PlanTables& tables) {
  std::vector<std::string> calls;
  for (const Call& call : body.calls) calls.push_back(write_call(call, tables));
  JsonLine line;
  return line.text("name", body.name).raw("calls", json_lines(calls, 4)).str();
}

/// The entries one a line; `write` gets the entry and its index.
template <typename Entry, typename Write>
std::string write_table(const std::vector<Entry>& entries, Write write) {
  std::vector<std::string> items;
  items.reserve(entries.size());
  for (const Entry& entry : entries) items.push_back(write(entry, items.size()));
  return json_lines(items, 2);
}

}  // namespace

std::string write_plan(const Plan& plan) {
  const PlanTables tables(plan);
  std::string text = fmt::format("{{\n  \"format_version\": {}", Plan::kFormatVersion);
  const auto add = [&](std::string_view key, const std::string& json) {
    text += fmt::format(",\n  \"{}\": {}", key, json);
  };
  const auto in_table = [&](auto write) {
    return [&tables, write](const auto& entry, std::size_t) { return write(entry, tables); };
  };
  add("model", write_model(plan.spec));
  add("recipe", write_recipe(plan.recipe));
  add("strategy", write_strategy_fields(plan.strategy));
  add("platform", write_platform(plan.platform, 2));
  if (plan.ranks > 1) {
    add("rank", std::to_string(plan.rank));
    add("ranks", std::to_string(plan.ranks));
    add("exchanges", write_table(plan.exchanges, write_exchange));
  }
  add("kernels", write_table(plan.kernels, write_kernel));
  add("buffers", write_table(plan.buffers, in_table(write_buffer)));
  add("arenas", write_table(plan.arenas, in_table(write_arena)));
  add("state", write_table(plan.state, in_table(write_state)));
  add("blocks", write_table(plan.blocks, in_table(write_block)));
  add("bodies", write_table(plan.bodies, in_table(write_body)));
  return text + "\n}\n";
}

std::string plan_digest(const Plan& plan) { return digest_of(write_plan(plan)); }

}  // namespace plimsoll
