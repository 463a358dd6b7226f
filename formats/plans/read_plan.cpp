#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/plan/verify_plan.h"
#include "formats/machines/machine_json.h"
#include "formats/plans/model_json.h"
#include "formats/text/parse_json.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/plan_tables.h"
#include "formats/plans/read_block.h"
#include "formats/plans/strategy_json.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostRepeats = 1 << 20;
constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();

OpShape read_shape(const JsonNode& node) {
  node.allow_only({"rows", "inputs", "outputs", "sequence", "heads", "kv_heads", "head_dim", "positions", "stride", "terms",
                   "experts", "choices", "capacity", "groups",
                   "variant", "constant"});
  const auto size = [&](std::string_view key, std::int64_t absent) {
    return node.integer_or(key, absent, 0, kMaxParsedCount);
  };
  return {.rows = size("rows", 0),
          .inputs = size("inputs", 0),
          .outputs = size("outputs", 0),
          .sequence = size("sequence", 0),
          .heads = size("heads", 0),
          .kv_heads = size("kv_heads", 0),
          .head_dim = size("head_dim", 0),
          .positions = size("positions", 0),
          .stride = size("stride", 0),
          .terms = size("terms", 1),
          .experts = size("experts", 0),
          .choices = size("choices", 0),
          .capacity = size("capacity", 0),
          .groups = size("groups", 0),
          .variant = static_cast<std::uint8_t>(node.integer_or("variant", 0, 0, 255)),
          .constant = node.number_or("constant", 0)};
}

Kernel read_kernel(const JsonNode& node, std::size_t position) {
  node.allow_only({"id", "kind", "dtype", "shape"});
  check_position(node, position);
  return {.kind = enum_of(node.at("kind"), kLastOpKind),
          .dtype = enum_or(node, "dtype", DType::kFp32, DType::kTf32),
          .shape = read_shape(node.at("shape"))};
}

Buffer read_buffer(const JsonNode& node, const NameTable& spaces) {
  node.allow_only({"name", "space", "offset", "bytes", "slots", "category", "persistent"});
  constexpr std::int64_t kMostSlots = 4096;
  Buffer buffer;
  buffer.name = node.text_or("name", "");
  buffer.space = spaces.read<SpaceId>(node.at("space"));
  buffer.offset = node.at("offset").bytes();
  buffer.bytes = node.at("bytes").bytes();
  buffer.slots = static_cast<std::uint32_t>(node.integer_or("slots", 1, 1, kMostSlots));
  buffer.category = enum_or(node, "category", TensorKind::kActivation, TensorKind::kScalar);
  buffer.persistent = node.boolean_or("persistent", false);
  if (buffer.bytes.count > kMaxParsedBytes.count / buffer.slots) node.fault("all slots together pass 1 EiB");
  return buffer;
}

Arena read_arena(const JsonNode& node, const NameTable& spaces) {
  node.allow_only({"space", "bytes"});
  return {.space = spaces.read<SpaceId>(node.at("space")), .bytes = node.at("bytes").bytes()};
}

StateBinding read_state(const JsonNode& node, const NameTable& buffers) {
  node.allow_only({"kind", "group", "buffer", "part", "parts"});
  return {.kind = enum_of(node.at("kind"), TensorKind::kScalar),
          .group = GroupId(node.at("group").index()),
          .buffer = buffers.read<BufferId>(node.at("buffer")),
          .part = static_cast<std::uint32_t>(node.integer_or("part", 0, 0, kMaxInt32)),
          .parts = static_cast<std::uint32_t>(node.integer_or("parts", 1, 1, kMaxInt32))};
}

/// The two of `[base, stride]`; a lone base has stride 0.
struct BaseAndStride {
  JsonNode base;
  std::int32_t stride = 0;
};

BaseAndStride read_stride(const JsonNode& node) {
  if (!node.is_array()) return {.base = node};
  const std::vector<JsonNode> pair = node.elements();
  if (pair.size() != 2) node.fault("expected a base or [base, stride]");
  if (pair.size() != 2) return {.base = node};
  return {.base = pair[0], .stride = static_cast<std::int32_t>(pair[1].integer(kMinInt32, kMaxInt32))};
}

Exchange read_exchange(const JsonNode& node, std::size_t position) {
  node.allow_only({"id", "kind", "dtype", "channel", "ranks"});
  check_position(node, position);
  Exchange exchange{.kind = enum_of(node.at("kind"), ExchangeKind::kAllToAllBack),
                    .dtype = enum_or(node, "dtype", DType::kFp32, DType::kTf32),
                    .channel = static_cast<std::uint32_t>(node.integer_or("channel", 0, 0, kMaxInt32)),
                    .ranks = {}};
  for (const JsonNode& rank : node.at("ranks").elements()) exchange.ranks.push_back(rank.index());
  return exchange;
}

Call read_call(const JsonNode& node, const PlanTables& tables) {
  node.allow_only({"block", "repeat", "micro_batch", "layer", "layer_stride", "bind", "ports"});
  Call call;
  call.block = tables.blocks.read<BlockId>(node.at("block"));
  call.repeat = static_cast<std::uint32_t>(node.integer_or("repeat", 1, 1, kMostRepeats));
  call.micro_batch = static_cast<std::uint32_t>(node.integer_or("micro_batch", 0, 0, kMaxInt32));
  call.layer = static_cast<std::int32_t>(node.integer_or("layer", -1, -kMostRepeats, kMostRepeats));
  call.layer_stride = static_cast<std::int32_t>(node.integer_or("layer_stride", 0, -1024, 1024));
  for (const JsonNode& item : node.elements_of("bind")) {
    const BaseAndStride binding = read_stride(item);
    call.bindings.push_back({.base = tables.buffers.read<BufferId>(binding.base), .stride = binding.stride});
  }
  for (const JsonNode& item : node.elements_of("ports")) {
    const BaseAndStride port = read_stride(item);
    call.ports.push_back({.base = port.base.index(), .stride = port.stride});
  }
  return call;
}

Body read_body(const JsonNode& node, const PlanTables& tables) {
  node.allow_only({"name", "calls"});
  Body body;
  body.name = node.at("name").text();
  for (const JsonNode& item : node.at("calls").elements()) body.calls.push_back(read_call(item, tables));
  return body;
}

/// Gives the block's uses that were written without a size the rest of the buffer that the call binds.
void fill_sizes(const Plan& plan, const Call& call, Block& block) {
  for (Use& use : block.list.uses) {
    if (use.bytes != kRestOfBuffer || use.target >= call.bindings.size()) continue;
    const std::uint32_t buffer = call.bindings[use.target].base.index;
    if (buffer >= plan.buffers.size()) continue;
    use.bytes = Bytes(std::max<std::int64_t>(0, plan.buffers[buffer].bytes.count - use.offset.count));
  }
}

void fill_sizes(const JsonNode& node, Plan& plan) {
  for (const Body& body : plan.bodies) {
    for (const Call& call : body.calls) {
      if (call.block.index < plan.blocks.size()) fill_sizes(plan, call, plan.blocks[call.block.index]);
    }
  }
  for (const Block& block : plan.blocks) {
    for (const Use& use : block.list.uses) {
      if (use.bytes != kRestOfBuffer) continue;
      node.fault(fmt::format("block \"{}\" has uses without a size, and no call binds their slots", block.name),
                 "write [slot, access, bytes]");
    }
  }
}

/// A model must be sound, for parameter groups are counted by it.
void read_numbers(const JsonNode& node, Plan& plan) {
  if (node.has("recipe")) plan.recipe = read_recipe(node.at("recipe"));
  if (!node.has("model")) return;
  const JsonNode model = node.at("model");
  plan.spec = read_model(model);
  const Result<void> valid = names_model(model) ? validate(plan.spec) : Result<void>{};
  if (!valid) model.fault(valid.error().what, valid.error().remedy);
}

void read_tables(const JsonNode& node, Plan& plan) {
  plan.rank = static_cast<std::uint32_t>(node.integer_or("rank", 0, 0, kMaxInt32));
  plan.ranks = static_cast<std::uint32_t>(node.integer_or("ranks", 1, 1, kMaxInt32));
  for (const JsonNode& item : node.elements_of("exchanges"))
    plan.exchanges.push_back(read_exchange(item, plan.exchanges.size()));
  for (const JsonNode& item : node.elements_of("kernels"))
    plan.kernels.push_back(read_kernel(item, plan.kernels.size()));
  const NameTable spaces = name_table("space", plan.platform.spaces);
  for (const JsonNode& item : node.elements_of("buffers")) plan.buffers.push_back(read_buffer(item, spaces));
  for (const JsonNode& item : node.elements_of("arenas")) plan.arenas.push_back(read_arena(item, spaces));
  const NameTable buffers = name_table("buffer", plan.buffers);
  for (const JsonNode& item : node.elements_of("state")) plan.state.push_back(read_state(item, buffers));
}

void read_program(const JsonNode& node, Plan& plan) {
  const NameTable queues = name_table("queue", plan.platform.queues);
  const BlockSurroundings around{.queues = queues, .kernels = plan.kernels.size()};
  for (const JsonNode& item : node.elements_of("blocks")) plan.blocks.push_back(read_block(item, around));
  const PlanTables tables(plan);
  for (const JsonNode& item : node.at("bodies").elements()) plan.bodies.push_back(read_body(item, tables));
  fill_sizes(node, plan);
}

}  // namespace

Result<Plan> read_plan(std::string_view text, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document) return fail(document.error());
  if (document->is_object() && document->contains("model_type") && !document->contains("format_version")) {
    return fail({.kind = ErrorKind::kInput, .what = "this is a model's configuration, not a plan", .where = where,
                 .remedy = "plimsoll plan makes a plan of it, plimsoll fit and run take it as it is"});
  }
  JsonFault fault{.where = where, .error = {}};
  const JsonNode node(*document, "", fault);
  read_format_version(node, Plan::kFormatVersion);
  if (fault.error) return fail(*fault.error);
  node.allow_only({"format_version", "model", "recipe", "strategy", "platform", "rank", "ranks", "exchanges",
                   "kernels", "buffers", "arenas", "state", "blocks", "bodies"});
  Plan plan;
  read_numbers(node, plan);
  if (node.has("strategy")) plan.strategy = read_strategy_fields(node.at("strategy"));
  plan.platform = read_platform(node.at("platform"));
  read_tables(node, plan);
  read_program(node, plan);
  if (fault.error) return fail(*fault.error);
  if (auto checked = check_indices(plan); !checked) {
    Error error = checked.error();
    error.where = error.where.empty() ? where : where + " " + error.where;
    return fail(std::move(error));
  }
  return plan;
}

}  // namespace plimsoll
