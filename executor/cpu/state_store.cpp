#include "executor/cpu/state_store.h"

#include <algorithm>

#include "executor/cpu/state_share.h"

namespace plimsoll {

StateStore::StateStore(const Plan& plan, const Program& step, const ArenaSet& arenas)
    : plan_(plan),
      arenas_(arenas),
      layout_(lay_out_parameters(plan.spec, plan.recipe.adapter)),
      staged_(plan.buffers.size(), nullptr) {
  for (const Instruction& instruction : step.body.list.instructions) {
    if (instruction.kind != InstructionKind::kRead) continue;
    const Use &source = step.body.uses(instruction)[0], &into = step.body.uses(instruction)[1];
    if (arenas.size_in_memory(plan.buffers[into.target].space).count == 0) continue;  // a device's
    if (source.bytes == plan.buffers[source.target].bytes) staged_[source.target] = step.uses_of(instruction)[1].base;
  }
}

std::span<const std::byte> StateStore::read(const StateBinding& binding, std::int64_t steps_done) const {
  const Buffer& buffer = plan_.at(binding.buffer);
  const std::uint32_t newest = buffer.slots == 1 ? 0 : buffer.slot_in(static_cast<std::uint64_t>(steps_done), 1);
  const std::span<std::byte> memory = memory_of(binding.buffer, newest);
  if (Drive* drive = arenas_.drive(buffer.space)) drive->read(buffer.offset_in(newest), memory);
  return memory.first(size_of_state(binding));
}

void StateStore::write(const StateBinding& binding, const std::function<void(std::span<std::byte>)>& fill) const {
  const Buffer& buffer = plan_.at(binding.buffer);
  const std::span<std::byte> first = memory_of(binding.buffer, 0);
  fill(first.first(size_of_state(binding)));
  for (std::uint32_t slot = 0; slot < buffer.slots; ++slot) {
    const std::span<std::byte> memory = memory_of(binding.buffer, slot);
    if (memory.data() != first.data()) std::copy(first.begin(), first.end(), memory.begin());
    if (Drive* drive = arenas_.drive(buffer.space)) drive->write(buffer.offset_in(slot), memory);
  }
}

std::span<std::byte> StateStore::memory_of(BufferId id, std::uint32_t slot) const {
  const Buffer& buffer = plan_.at(id);
  const bool on_drive = arenas_.drive(buffer.space) != nullptr;
  std::byte* begin = on_drive ? staged_[id.index] : arenas_.at(buffer.space, buffer.offset_in(slot));
  if (on_drive && begin == nullptr) begin = passing(buffer.bytes);
  return {begin, static_cast<std::size_t>(buffer.bytes.count)};
}

std::byte* StateStore::passing(Bytes bytes) const {
  if (!passing_ || passing_->size() < bytes) {
    passing_.reset();
    passing_ = std::make_unique<HostArena>(bytes);
  }
  return passing_->data();
}

std::size_t StateStore::size_of_state(const StateBinding& binding) const { return bytes_kept(plan_, layout_, binding); }

}  // namespace plimsoll
