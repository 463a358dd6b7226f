#include "core/plan/expand.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace plimsoll {
namespace {

/// One stretch in normal form: slots and ports numbered in the order in which the stretch first uses them.
struct Stretch {
  Block block;
  Call call;
};

std::uint32_t number_of(std::unordered_map<std::uint32_t, std::uint32_t>& numbers, std::uint32_t key) {
  return numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
}

/// Layer that the stretch's layers are counted from: what the segment says, or lower when an instruction lies lower.
std::int32_t base_layer(const FlatBody& flat, const Segment& segment, std::uint32_t end) {
  std::int32_t base = segment.layer;
  for (std::uint32_t id = segment.first; id < end; ++id) {
    const std::int32_t layer = flat.list.instructions[id].layer;
    if (layer >= 0) base = std::min(base, layer);
  }
  return base;
}

class Normaliser {
 public:
  Normaliser(const FlatBody& flat, const Segment& segment, std::uint32_t end)
      : flat_(flat), first_(segment.first), end_(end) {
    stretch_.block.name = segment.name;
    stretch_.call.micro_batch = segment.micro_batch;
    stretch_.call.layer = base_layer(flat, segment, end);
  }

  Stretch run() {
    for (std::uint32_t id = first_; id < end_; ++id) append(flat_.list.instructions[id]);
    stretch_.block.slot_count = static_cast<std::uint32_t>(stretch_.call.bindings.size());
    stretch_.block.port_count = static_cast<std::uint32_t>(stretch_.call.ports.size());
    return std::move(stretch_);
  }

 private:
  void append(const Instruction& flat) {
    InstructionList& out = stretch_.block.list;
    Instruction instruction = flat;
    if (flat.layer >= 0) instruction.layer -= stretch_.call.layer;
    instruction.first_use = flat.use_count == 0 ? 0 : static_cast<std::uint32_t>(out.uses.size());
    instruction.first_dependency = flat.dependency_count == 0 ? 0 : static_cast<std::uint32_t>(out.dependencies.size());
    instruction.first_member = flat.member_count == 0 ? 0 : static_cast<std::uint32_t>(out.members.size());
    out.instructions.push_back(instruction);
    for (Use use : flat_.uses(flat)) {
      use.target = slot_of(use.target);
      out.uses.push_back(use);
    }
    for (Dependency dependency : flat_.dependencies(flat)) {
      dependency.local = dependency.target >= first_ && dependency.target < end_;
      dependency.target = dependency.local ? dependency.target - first_ : port_of(dependency.target);
      out.dependencies.push_back(dependency);
    }
    const auto members = flat_.members(flat);
    out.members.insert(out.members.end(), members.begin(), members.end());
  }

  std::uint32_t slot_of(std::uint32_t buffer) {
    const std::uint32_t slot = number_of(slots_, buffer);
    if (slot == stretch_.call.bindings.size()) stretch_.call.bindings.push_back({BufferId(buffer), 0});
    return slot;
  }

  std::uint32_t port_of(std::uint32_t instruction) {
    const std::uint32_t port = number_of(ports_, instruction);
    if (port == stretch_.call.ports.size()) stretch_.call.ports.push_back({instruction, 0});
    return port;
  }

  const FlatBody& flat_;
  std::uint32_t first_;
  std::uint32_t end_;
  Stretch stretch_;
  std::unordered_map<std::uint32_t, std::uint32_t> slots_;
  std::unordered_map<std::uint32_t, std::uint32_t> ports_;
};

std::size_t hash_of(const InstructionList& list) {
  std::uint64_t hash = list.instructions.size();
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 31); };
  for (const Instruction& instruction : list.instructions) {
    mix(instruction.kernel.index);
    mix(instruction.queue.index);
  }
  for (const Use& use : list.uses) mix(static_cast<std::uint64_t>(use.bytes.count) * 31 + use.target);
  for (const Dependency& dependency : list.dependencies) mix(dependency.target);
  return hash;
}

/// The plan's blocks, each distinct one once.
class BlockTable {
 public:
  explicit BlockTable(Plan& plan) : plan_(plan) {
    for (std::size_t i = 0; i < plan.blocks.size(); ++i) by_hash_.emplace(hash_of(plan.blocks[i].list), i);
  }

  BlockId find_or_add(Block block) {
    const std::size_t hash = hash_of(block.list);
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto candidate = first; candidate != last; ++candidate) {
      const Block& known = plan_.blocks[candidate->second];
      const bool same = known.slot_count == block.slot_count && known.port_count == block.port_count;
      if (same && known.list == block.list) return BlockId(candidate->second);
    }
    by_hash_.emplace(hash, plan_.blocks.size());
    plan_.blocks.push_back(std::move(block));
    return BlockId(plan_.blocks.size() - 1);
  }

 private:
  Plan& plan_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;
};

/// Step from `base` (repetition 0) to `next` (repetition `repeat`): a second repetition sets the stride, later ones
/// must keep it.
bool keeps_stride(std::int64_t base, std::int64_t next, std::uint32_t repeat, std::int32_t& stride) {
  const std::int64_t distance = next - base;
  if (repeat > 1) return distance == static_cast<std::int64_t>(stride) * repeat;
  if (distance < std::numeric_limits<std::int32_t>::min() || distance > std::numeric_limits<std::int32_t>::max())
    return false;
  stride = static_cast<std::int32_t>(distance);
  return true;
}

/// Makes `next` one more repetition of `call`, if it continues it evenly.
bool continue_call(Call& call, const Call& next) {
  if (call.block != next.block || call.micro_batch != next.micro_batch) return false;
  Call longer = call;
  if (!keeps_stride(call.layer, next.layer, call.repeat, longer.layer_stride)) return false;
  for (std::size_t i = 0; i < call.bindings.size(); ++i) {
    Binding& binding = longer.bindings[i];
    if (!keeps_stride(binding.base.index, next.bindings[i].base.index, call.repeat, binding.stride)) return false;
  }
  for (std::size_t i = 0; i < call.ports.size(); ++i) {
    if (!keeps_stride(call.ports[i].base, next.ports[i].base, call.repeat, longer.ports[i].stride)) return false;
  }
  longer.repeat = call.repeat + 1;
  call = std::move(longer);
  return true;
}

}  // namespace

Body fold(Plan& plan, std::string name, const FlatBody& flat, std::span<const Segment> segments) {
  Body body{.name = std::move(name), .calls = {}};
  BlockTable blocks(plan);
  const auto size = static_cast<std::uint32_t>(flat.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint32_t end = i + 1 < segments.size() ? segments[i + 1].first : size;
    if (segments[i].first == end) continue;
    Stretch stretch = Normaliser(flat, segments[i], end).run();
    stretch.call.block = blocks.find_or_add(std::move(stretch.block));
    if (!body.calls.empty() && continue_call(body.calls.back(), stretch.call)) continue;
    body.calls.push_back(std::move(stretch.call));
  }
  return body;
}

}  // namespace plimsoll
