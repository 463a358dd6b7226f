#include "formats/plans/read_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

constexpr std::int64_t kMostSlots = 1 << 20;
constexpr std::int64_t kMostDistance = 4096;
constexpr std::int64_t kMostAge = 1023;
constexpr std::int64_t kMostLayers = 1 << 20;

/// How uses name the block's slots: by position, or by the names that "slots" lists.
class Slots {
 public:
  explicit Slots(const JsonNode& block) {
    if (!block.has("slots")) return;
    const JsonNode slots = block.at("slots");
    if (!slots.is_array()) {
      count_ = static_cast<std::uint32_t>(slots.integer(0, kMostSlots));
      return;
    }
    std::vector<std::string> names;
    for (const JsonNode& name : slots.elements()) names.push_back(name.text());
    names_.emplace("slot", std::move(names));
  }

  [[nodiscard]] std::uint32_t read(const JsonNode& node) const {
    if (names_) return names_->read<StrongId<struct SlotTag>>(node).index;
    return static_cast<std::uint32_t>(node.integer(0, count_ ? std::int64_t{*count_} - 1 : kMostSlots));
  }
  /// Stated, or else as many as the uses name.
  [[nodiscard]] std::uint32_t count(const std::vector<Use>& uses) const {
    if (names_) return static_cast<std::uint32_t>(names_->size());
    std::uint32_t count = count_.value_or(0);
    for (const Use& use : uses) count = std::max(count, use.target + 1);
    return count;
  }

 private:
  std::optional<std::uint32_t> count_;
  std::optional<NameTable> names_;
};

Access read_access(const JsonNode& node) { return static_cast<Access>(node.one_of({"r", "w", "rw"})); }

/// `[slot, access, bytes, offset, age]`, of which the last three may be left out from the end.
Use read_use(const JsonNode& node, const Slots& slots) {
  const std::vector<JsonNode> parts = node.elements();
  if (parts.size() < 2 || parts.size() > 5) {
    node.fault("expected [slot, access, bytes, offset, age]");
    return {};
  }
  Use use{.target = slots.read(parts[0]), .access = read_access(parts[1]), .offset = Bytes(0), .bytes = kRestOfBuffer};
  if (parts.size() > 2 && !parts[2].is_null()) use.bytes = parts[2].bytes();
  if (parts.size() > 3) use.offset = parts[3].bytes();
  if (parts.size() > 4) use.age = static_cast<std::uint32_t>(parts[4].integer(0, kMostAge));
  return use;
}

/// A position in the block, `{"instruction": n, "distance": d}` or `{"port": n, "distance": d}`.
Dependency read_dependency(const JsonNode& node) {
  if (!node.is_object()) return {.target = node.index(), .distance = 0, .local = true};
  node.allow_only({"instruction", "port", "distance"});
  const bool local = !node.has("port");
  if (!local && node.has("instruction")) node.fault("a dependency is an instruction or a port, not both");
  return {.target = node.at(local ? "instruction" : "port").index(),
          .distance = static_cast<std::uint32_t>(node.integer_or("distance", 0, 0, kMostDistance)),
          .local = local};
}

KernelId read_kernel(const JsonNode& node, InstructionKind kind, std::size_t kernels) {
  if (kind != InstructionKind::kLaunch && !node.has("kernel")) return KernelId();
  const JsonNode id = node.at("kernel");
  const std::uint32_t index = id.index();
  if (index >= kernels) id.fault(fmt::format("there is no kernel {}: the table has {}", index, kernels));
  return KernelId(index);
}

/// Appends what `read` makes of each element of `key`. An empty range begins at 0, so that equal instructions are
/// equal.
template <typename Entry, typename Read>
void read_range(const JsonNode& node, std::string_view key, std::vector<Entry>& all, std::uint32_t& first,
                std::uint32_t& count, Read read) {
  const std::vector<JsonNode> items = node.elements_of(key);
  count = static_cast<std::uint32_t>(items.size());
  first = items.empty() ? 0 : static_cast<std::uint32_t>(all.size());
  for (const JsonNode& item : items) all.push_back(read(item));
}

void read_instruction(const JsonNode& node, const Slots& slots, const BlockSurroundings& around,
                      InstructionList& list) {
  node.allow_only({"id", "kind", "queue", "phase", "task", "kernel", "layer", "uses", "after", "members", "guard", "exchange"});
  check_position(node, list.instructions.size());
  Instruction i;
  i.kind = enum_of(node.at("kind"), InstructionKind::kMarker);
  i.queue = around.queues.read<QueueId>(node.at("queue"));
  i.phase = enum_or(node, "phase", Phase::kForward, Phase::kOptimizer);
  i.task = enum_or(node, "task", HostTask::kNone, HostTask::kReportLoss);
  i.kernel = read_kernel(node, i.kind, around.kernels);
  i.layer = static_cast<std::int32_t>(node.integer_or("layer", -1, -kMostLayers, kMostLayers));
  read_range(node, "uses", list.uses, i.first_use, i.use_count,
             [&](const JsonNode& use) { return read_use(use, slots); });
  read_range(node, "after", list.dependencies, i.first_dependency, i.dependency_count, read_dependency);
  read_range(node, "members", list.members, i.first_member, i.member_count,
             [&](const JsonNode& member) { return around.queues.read<QueueId>(member); });
  if (node.has("guard")) {
    if (i.use_count == 0) node.at("guard").fault("a guard names one of the instruction's uses, and it has none");
    i.guard = static_cast<std::uint32_t>(node.at("guard").integer(0, std::max<std::int64_t>(0, i.use_count - 1)));
  }
  if (node.has("exchange")) i.exchange = ExchangeId(node.at("exchange").index());
  list.instructions.push_back(i);
}

std::uint32_t count_ports(const JsonNode& node, const InstructionList& list) {
  std::uint32_t count = 0;
  for (const Dependency& dependency : list.dependencies) {
    if (!dependency.local) count = std::max(count, dependency.target + 1);
  }
  if (!node.has("ports")) return count;
  const auto stated = static_cast<std::uint32_t>(node.at("ports").integer(0, kMostSlots));
  if (stated < count) node.at("ports").fault(fmt::format("the instructions name port {}", count - 1));
  return stated;
}

}  // namespace

Block read_block(const JsonNode& node, const BlockSurroundings& surroundings) {
  node.allow_only({"name", "slots", "ports", "instructions"});
  Block block;
  block.name = node.text_or("name", "");
  const Slots slots(node);
  for (const JsonNode& item : node.at("instructions").elements()) {
    read_instruction(item, slots, surroundings, block.list);
  }
  for (const Dependency& dependency : block.list.dependencies) {
    if (!dependency.local || dependency.target < block.list.instructions.size()) continue;
    node.fault(fmt::format("\"after\" names instruction {}, and the block has {}", dependency.target,
                           block.list.instructions.size()));
  }
  block.slot_count = slots.count(block.list.uses);
  block.port_count = count_ports(node, block.list);
  return block;
}

void check_position(const JsonNode& node, std::size_t position) {
  if (!node.has("id")) return;
  const std::uint32_t id = node.at("id").index();
  if (id != position)
    node.at("id").fault(fmt::format("expected {}, the entry's position in the list, found {}", position, id));
}

}  // namespace plimsoll
