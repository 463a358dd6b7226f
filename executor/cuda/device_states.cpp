#include "executor/cuda/device_states.h"

#include "executor/cpu/state_share.h"

namespace plimsoll {

DeviceStates::DeviceStates(const Plan& plan, const Program& step, const DeviceArenas& arenas, Device& device, StreamId stream)
    : plan_(plan),
      arenas_(arenas),
      device_(device),
      stream_(stream),
      layout_(lay_out_parameters(plan.spec, plan.recipe.adapter)),
      elsewhere_(plan, step, arenas.host()) {}

std::span<const std::byte> DeviceStates::read(const StateBinding& binding, std::int64_t steps_done) const {
  const Buffer& buffer = plan_.at(binding.buffer);
  const std::uint32_t newest = buffer.slots == 1 ? 0 : buffer.slot_in(static_cast<std::uint64_t>(steps_done), 1);
  const std::byte* place = on_device(buffer, newest);
  if (place == nullptr) return elsewhere_.read(binding, steps_done);
  passing_.resize(size_of_state(binding));
  copy(passing_.data(), place, passing_.size());
  return passing_;
}

void DeviceStates::write(const StateBinding& binding, const std::function<void(std::span<std::byte>)>& fill) const {
  const Buffer& buffer = plan_.at(binding.buffer);
  if (on_device(buffer, 0) == nullptr) return elsewhere_.write(binding, fill);
  passing_.resize(size_of_state(binding));
  fill(passing_);
  for (std::uint32_t slot = 0; slot < buffer.slots; ++slot) copy(on_device(buffer, slot), passing_.data(), passing_.size());
}

std::byte* DeviceStates::on_device(const Buffer& buffer, std::uint32_t slot) const {
  std::byte* memory = arenas_.device_memory(buffer.space);
  return memory == nullptr ? nullptr : memory + buffer.offset_in(slot).count;
}

void DeviceStates::copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
  device_.copy(stream_, to, from, Bytes(static_cast<std::int64_t>(bytes)));
  device_.synchronize();
}

std::size_t DeviceStates::size_of_state(const StateBinding& binding) const { return bytes_kept(plan_, layout_, binding); }

}  // namespace plimsoll
