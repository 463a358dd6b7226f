#include "executor/cuda/device_arenas.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

bool is_device(const Plan& plan, SpaceId space) { return plan.platform.at(space).kind == SpaceKind::kDevice; }

/// Before anything is taken: other processes' memory counts as gone.
void check_free(const Plan& plan, const Device& device, Bytes beside) {
  Bytes needed = beside;
  for (const Arena& arena : plan.arenas) {
    if (is_device(plan, arena.space)) needed += arena.bytes;
  }
  const DeviceInfo info = device.info();
  if (needed <= info.free) return;
  throw DeviceFull(
      {.kind = ErrorKind::kEnvironment,
       .what = fmt::format("the plan needs {} of {}, of which {} are free: {} bytes are missing", to_text(needed), info.name,
                           to_text(info.free), (needed - info.free).count),
       .where = "gpu0",
       .remedy = fmt::format("close other programs that use it, or plan with --device-memory {}MiB",
                             std::max<std::int64_t>(0, (info.free - beside).count / kMiB.count))},
      needed - info.free);
}

/// The plan's arenas but the device's, for which there must be room.
Plan host_part(Plan plan, const Device& device, Bytes beside) {
  check_free(plan, device, beside);
  std::erase_if(plan.arenas, [&](const Arena& arena) { return is_device(plan, arena.space); });
  return plan;
}

}  // namespace

DeviceArenas::DeviceArenas(const Plan& plan, std::shared_ptr<Device> device, const DriveOptions& drives, Bytes scratch,
                           std::size_t streams)
    : device_(std::move(device)),
      host_(host_part(plan, *device_, Bytes(align_up(scratch, kBufferAlignment).count * static_cast<std::int64_t>(streams))),
            drives),
      device_memory_(plan.platform.spaces.size(), nullptr),
      scratch_size_(static_cast<std::size_t>(align_up(scratch, kBufferAlignment).count)),
      streams_(streams) {
  try {
    reserve_device(plan);
    pin_host(plan);
  } catch (...) {
    release();
    throw;
  }
}

DeviceArenas::~DeviceArenas() {
  try {
    device_->synchronize();  // nothing may still read what goes
    release();
  } catch (const EnvironmentError&) {
    return;  // a device that failed keeps nothing
  }
}

void DeviceArenas::reserve_device(const Plan& plan) {
  for (const Arena& arena : plan.arenas) {
    if (is_device(plan, arena.space) && arena.bytes.count > 0) {
      device_memory_[arena.space.index] = device_->reserve(arena.bytes);
    }
  }
  const auto all = static_cast<std::int64_t>(scratch_size_ * streams_);
  if (all > 0) scratch_ = device_->reserve(Bytes(all));
}

void DeviceArenas::pin_host(const Plan& plan) {
  for (const Arena& arena : plan.arenas) {
    std::byte* memory = is_device(plan, arena.space) ? nullptr : host_.at(arena.space, Bytes(0));
    if (memory == nullptr || arena.bytes.count == 0) continue;
    const std::span<std::byte> all(memory, static_cast<std::size_t>(arena.bytes.count));
    device_->pin(all);
    pinned_.push_back(all);
  }
}

void DeviceArenas::release() {
  for (const std::span<std::byte> memory : pinned_) device_->unpin(memory);
  pinned_.clear();
  for (std::byte*& memory : device_memory_) {
    if (memory != nullptr) device_->release(memory);
    memory = nullptr;
  }
  if (scratch_ != nullptr) device_->release(scratch_);
  scratch_ = nullptr;
}

Program DeviceArenas::program_of(const Plan& plan, const Body& body) const {
  Program program = make_program(plan, body, host_);
  for (std::size_t i = 0; i < program.uses.size(); ++i) {
    PlacedUse& use = program.uses[i];
    std::byte* memory = device_memory_[plan.buffers[program.body.list.uses[i].target].space.index];
    if (memory != nullptr) use.base = memory + use.offset.count;
  }
  return program;
}

void DeviceArenas::fill_canary(const Plan& plan, StreamId stream) {
  host_.fill_canary();
  for (const Arena& arena : plan.arenas) {
    std::byte* memory = device_memory_[arena.space.index];
    if (memory != nullptr) device_->fill(stream, memory, std::byte{0xff}, arena.bytes);
  }
  device_->synchronize();
}

}  // namespace plimsoll
