#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/plan/verify_plan.h"

namespace plimsoll {
namespace {

using Check = Result<void>;

tl::unexpected<Error> defect(std::string where, std::string what) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = std::move(where), .remedy = {}});
}

template <typename Id, typename Table>
bool names_entry(Id id, const Table& table) {
  return id.index < table.size();
}

/// True when [first, first + count) lies inside a table of `size`.
bool inside(std::uint64_t first, std::uint64_t count, std::size_t size) { return first + count <= size; }

/// True when `base + stride · r` is a valid index below `size` for every r below `repeat`.
bool stays_inside(std::int64_t base, std::int64_t stride, std::uint32_t repeat, std::size_t size) {
  const std::int64_t last = base + stride * (static_cast<std::int64_t>(repeat) - 1);
  const auto limit = static_cast<std::int64_t>(size);
  return base >= 0 && base < limit && last >= 0 && last < limit;
}

bool known_resources(const Platform& platform, const std::vector<Demand>& demands) {
  return std::all_of(demands.begin(), demands.end(),
                     [&](const Demand& demand) { return names_entry(demand.resource, platform.resources); });
}

Check check_platform(const Platform& platform) {
  for (const Processor& processor : platform.processors) {
    if (!names_entry(processor.space, platform.spaces))
      return defect("processor " + processor.name, "names no memory space");
  }
  for (const Link& link : platform.links) {
    const bool ends = names_entry(link.from, platform.spaces) && names_entry(link.to, platform.spaces);
    if (!ends || !known_resources(platform, link.path))
      return defect("link " + link.name, "names no memory space or resource");
  }
  for (const Queue& queue : platform.queues) {
    const std::string where = "queue " + queue.name;
    if (queue.width < 1) return defect(where, fmt::format("has width {}", queue.width));
    if (queue.processor.valid() && !names_entry(queue.processor, platform.processors))
      return defect(where, "names no processor");
    if (!known_resources(platform, queue.demands)) return defect(where, "names no resource");
  }
  return {};
}

Check check_memory(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    const std::string where = "buffer " + buffer.name;
    if (!names_entry(buffer.space, plan.platform.spaces)) return defect(where, "names no memory space");
    if (buffer.bytes.count < 0 || buffer.bytes > kMaxParsedBytes) return defect(where, "has an impossible size");
    if (buffer.slots < 1 || buffer.slots > kMaxBufferSlots) {
      return defect(where, fmt::format("has {} slots; 1 to {} are possible", buffer.slots, kMaxBufferSlots));
    }
  }
  std::vector<bool> seen(plan.platform.spaces.size(), false);
  for (const Arena& arena : plan.arenas) {
    if (!names_entry(arena.space, plan.platform.spaces)) return defect("arena", "names no memory space");
    if (seen[arena.space.index]) return defect("arena", fmt::format("{} has two", plan.platform.at(arena.space).name));
    seen[arena.space.index] = true;
  }
  for (const StateBinding& state : plan.state) {
    if (!names_entry(state.buffer, plan.buffers))
      return defect("state", fmt::format("names no buffer ({})", state.buffer.index));
  }
  return {};
}

Check check_references(const Plan& plan, const Block& block, std::size_t index) {
  const InstructionList& list = block.list;
  const Instruction& instruction = list.instructions[index];
  const std::string where = fmt::format("block {}, instruction {}", block.name, index);
  if (!names_entry(instruction.queue, plan.platform.queues)) return defect(where, "names no queue");
  const bool launch = instruction.kind == InstructionKind::kLaunch;
  if (launch && !names_entry(instruction.kernel, plan.kernels)) return defect(where, "names no kernel");
  if (instruction.exchange.valid() && !names_entry(instruction.exchange, plan.exchanges))
    return defect(where, "names no exchange");
  if (instruction.guard != kNoGuard && instruction.guard >= instruction.use_count)
    return defect(where, "has a guard that is no use of it");
  const bool ranges = inside(instruction.first_use, instruction.use_count, list.uses.size()) &&
                      inside(instruction.first_dependency, instruction.dependency_count, list.dependencies.size()) &&
                      inside(instruction.first_member, instruction.member_count, list.members.size());
  if (!ranges) return defect(where, "has uses, dependencies or members beyond those of its block");
  return {};
}

/// The instruction that entry number `entry` of a flat array belongs to, by the range that it has there; none may.
std::optional<std::size_t> owner_of(const InstructionList& list, std::ptrdiff_t entry, std::uint32_t Instruction::*first,
                                    std::uint32_t Instruction::*count) {
  for (std::size_t i = 0; i < list.instructions.size(); ++i) {
    const std::ptrdiff_t begin = list.instructions[i].*first;
    if (entry >= begin && entry - begin < static_cast<std::ptrdiff_t>(list.instructions[i].*count)) return i;
  }
  return std::nullopt;
}

std::string where_of(const Block& block, std::optional<std::size_t> instruction) {
  return instruction ? fmt::format("block {}, instruction {}", block.name, *instruction) : "block " + block.name;
}

Check check_block(const Plan& plan, const Block& block) {
  const InstructionList& list = block.list;
  for (std::size_t i = 0; i < list.instructions.size(); ++i) {
    if (auto ok = check_references(plan, block, i); !ok) return ok;
  }
  for (const Use& use : list.uses) {
    if (use.target >= block.slot_count)
      return defect(where_of(block, owner_of(list, &use - list.uses.data(), &Instruction::first_use, &Instruction::use_count)),
                    fmt::format("uses slot {} of {}", use.target, block.slot_count));
  }
  for (const Dependency& dependency : list.dependencies) {
    const std::size_t limit = dependency.local ? list.instructions.size() : block.port_count;
    if (dependency.target >= limit) {
      const auto owner = owner_of(list, &dependency - list.dependencies.data(), &Instruction::first_dependency,
                                  &Instruction::dependency_count);
      return defect(where_of(block, owner), fmt::format("depends on {} {} of {}", dependency.local ? "instruction" : "port",
                                                        dependency.target, limit));
    }
  }
  for (const QueueId member : list.members) {
    if (!names_entry(member, plan.platform.queues)) return defect("block " + block.name, "names no queue as a member");
  }
  return {};
}

/// Instructions of a block and all that they refer to (ranges of instructions may share entries).
struct BlockSize {
  std::uint64_t instructions = 0;
  std::uint64_t references = 0;
  std::int64_t highest_layer = -1;
};

BlockSize size_of_block(const Block& block) {
  BlockSize size{.instructions = block.list.instructions.size()};
  for (const Instruction& instruction : block.list.instructions) {
    size.references += std::uint64_t{instruction.use_count} + instruction.dependency_count + instruction.member_count;
    size.highest_layer = std::max<std::int64_t>(size.highest_layer, instruction.layer);
  }
  return size;
}

/// Whether each repetition's layers are whole numbers that an instruction can hold.
bool layers_fit(const Call& call, std::int64_t highest) {
  const std::int64_t last = call.layer + std::int64_t{call.layer_stride} * (std::int64_t{call.repeat} - 1);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return std::min<std::int64_t>(call.layer, last) >= -1 &&
         std::max<std::int64_t>(call.layer, last) + std::max<std::int64_t>(highest, 0) <= most;
}

/// ", instruction 3": the first one of the block that uses the slot, or waits for the port.
std::string first_with_slot(const Block& block, std::size_t slot) {
  for (std::size_t i = 0; i < block.list.instructions.size(); ++i) {
    const Instruction& instruction = block.list.instructions[i];
    for (std::uint32_t u = 0; u < instruction.use_count; ++u) {
      if (block.list.uses[instruction.first_use + u].target == slot) return fmt::format(", instruction {}", i);
    }
  }
  return {};
}

std::string first_with_port(const Block& block, std::size_t port) {
  for (std::size_t i = 0; i < block.list.instructions.size(); ++i) {
    const Instruction& instruction = block.list.instructions[i];
    for (std::uint32_t d = 0; d < instruction.dependency_count; ++d) {
      const Dependency& dependency = block.list.dependencies[instruction.first_dependency + d];
      if (!dependency.local && dependency.target == port) return fmt::format(", instruction {}", i);
    }
  }
  return {};
}

Check check_call(const Plan& plan, const Call& call, std::size_t body_size, const std::string& where) {
  const Block& block = plan.at(call.block);
  if (call.bindings.size() != block.slot_count || call.ports.size() != block.port_count) {
    return defect(where,
                  fmt::format("binds {} slots and {} ports of block {}, which has {} and {}", call.bindings.size(),
                              call.ports.size(), block.name, block.slot_count, block.port_count));
  }
  for (std::size_t slot = 0; slot < call.bindings.size(); ++slot) {
    const Binding& binding = call.bindings[slot];
    if (!stays_inside(binding.base.index, binding.stride, call.repeat, plan.buffers.size()))
      return defect(where + first_with_slot(block, slot), "binds a buffer that is not there");
  }
  for (std::size_t port = 0; port < call.ports.size(); ++port) {
    if (!stays_inside(call.ports[port].base, call.ports[port].stride, call.repeat, body_size))
      return defect(where + first_with_port(block, port), "depends on an instruction that is not there");
  }
  return {};
}

Check check_body(const Plan& plan, const Body& body, const std::vector<BlockSize>& sizes) {
  std::uint64_t instructions = 0, references = 0;
  for (std::size_t i = 0; i < body.calls.size(); ++i) {
    const Call& call = body.calls[i];
    const std::string where = fmt::format("body {}, call {}", body.name, i);
    if (!names_entry(call.block, plan.blocks)) return defect(where, "names no block");
    if (call.repeat < 1) return defect(where, "is repeated 0 times");
    const BlockSize& size = sizes[call.block.index];
    if (!layers_fit(call, size.highest_layer)) return defect(where, "has impossible layers");
    instructions += size.instructions * call.repeat;
    references += std::min(size.references, kMaxBodyReferences + 1) * call.repeat;
    if (instructions > kMaxBodyInstructions || references > kMaxBodyReferences) {
      return defect(where, fmt::format("the body has more than {} instructions or {} uses and dependencies",
                                       kMaxBodyInstructions, kMaxBodyReferences));
    }
  }
  for (std::size_t i = 0; i < body.calls.size(); ++i) {
    if (auto ok = check_call(plan, body.calls[i], instructions, fmt::format("body {}, call {}", body.name, i)); !ok)
      return ok;
  }
  return {};
}

}  // namespace

Result<void> check_indices(const Plan& plan) {
  if (auto ok = check_platform(plan.platform); !ok) return ok;
  if (auto ok = check_memory(plan); !ok) return ok;
  std::vector<BlockSize> sizes;
  for (const Block& block : plan.blocks) {
    if (auto ok = check_block(plan, block); !ok) return ok;
    sizes.push_back(size_of_block(block));
  }
  for (const Body& body : plan.bodies) {
    if (auto ok = check_body(plan, body, sizes); !ok) return ok;
  }
  return {};
}

}  // namespace plimsoll
