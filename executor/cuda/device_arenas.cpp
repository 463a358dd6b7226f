#include "executor/cuda/device_arenas.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/cpu/loaded_plan.h"

namespace plimsoll {
namespace {

constexpr std::byte kNan{0xff};

bool is_device(const Plan& plan, SpaceId space) { return plan.platform.at(space).kind == SpaceKind::kDevice; }

/// Before anything is taken: other processes' memory counts as gone, `held` is ours already.
void check_free(const Device& device, Bytes needed, Bytes beside, Bytes held = Bytes(0)) {
  DeviceInfo info = device.info();
  info.free += held;
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

Bytes on_device(const Plan& plan) {
  Bytes all;
  for (const Arena& arena : plan.arenas) all += is_device(plan, arena.space) ? arena.bytes : Bytes(0);
  return all;
}

/// The plan's arenas but the device's.
Plan host_part(Plan plan) {
  std::erase_if(plan.arenas, [&](const Arena& arena) { return is_device(plan, arena.space); });
  return plan;
}

/// The same, where there is room for the device's.
Plan host_part(const Plan& plan, const Device& device, Bytes beside) {
  check_free(device, on_device(plan) + beside, beside);
  return host_part(plan);
}

}  // namespace

DeviceArenas::DeviceArenas(const Plan& plan, std::shared_ptr<Device> device, const DriveOptions& drives, Bytes scratch,
                           std::size_t streams)
    : device_(std::move(device)),
      host_(host_part(plan, *device_, Bytes(align_up(scratch, kBufferAlignment).count * static_cast<std::int64_t>(streams))),
            drives),
      device_memory_(plan.platform.spaces.size()),
      scratch_size_(0),
      streams_(streams) {
  try {
    resize_device(plan);
    resize_scratch(scratch);
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

void DeviceArenas::resize(const Plan& plan, Bytes scratch) {
  device_->synchronize();
  stop_drives();
  Bytes held;
  for (const DeviceMemory& memory : device_memory_) held += memory.size;
  check_free(*device_, on_device(plan), Bytes(0), held);
  resize_host(plan);
  resize_device(plan);
  resize_scratch(scratch);
}

void DeviceArenas::resize_device(const Plan& plan) {
  for (const Arena& arena : plan.arenas) {
    if (is_device(plan, arena.space)) resize_device(device_memory_[arena.space.index], arena.bytes);
  }
}

void DeviceArenas::resize_device(DeviceMemory& memory, Bytes bytes) {
  if (bytes == memory.size) return;
  if (memory.data == nullptr) {
    memory.data = device_->reserve(bytes);
  } else if (bytes.count > 0) {
    memory.data = device_->resize(memory.data, memory.size, bytes);
  } else {
    device_->release(memory.data);
    memory.data = nullptr;
  }
  memory.size = bytes;
}

void DeviceArenas::resize_scratch(Bytes scratch) {
  const auto wanted = static_cast<std::size_t>(align_up(scratch, kBufferAlignment).count);
  if (wanted <= scratch_size_) return;
  const auto all = Bytes(static_cast<std::int64_t>(wanted * streams_));
  std::byte* const data = all.count > 0 ? device_->reserve(all) : nullptr;
  if (scratch_ != nullptr) device_->release(scratch_);
  scratch_ = data;
  scratch_size_ = wanted;
}

/// Memory that is pinned cannot move.
void DeviceArenas::resize_host(const Plan& plan) {
  const Plan host = host_part(plan);
  bool moves = false;
  for (std::uint32_t s = 0; s < plan.platform.spaces.size(); ++s) {
    const bool in_memory = plan.platform.spaces[s].kind != SpaceKind::kSsd;
    moves = moves || (in_memory && host_.size_in_memory(SpaceId(s)) != host.arena_bytes(SpaceId(s)));
  }
  if (!moves) return host_.resize(host);
  unpin_host();
  try {
    host_.resize(host);
  } catch (const EnvironmentError&) {
    pin_host(plan);
    throw;
  }
  pin_host(plan);
}

void DeviceArenas::pin_host(const Plan& plan) {
  for (std::uint32_t s = 0; s < plan.platform.spaces.size(); ++s) {
    const Bytes bytes = host_.size_in_memory(SpaceId(s));
    if (bytes.count == 0) continue;
    const std::span<std::byte> all(host_.at(SpaceId(s), Bytes(0)), static_cast<std::size_t>(bytes.count));
    device_->pin(all);
    pinned_.push_back(all);
  }
}

void DeviceArenas::unpin_host() {
  for (const std::span<std::byte> memory : pinned_) device_->unpin(memory);
  pinned_.clear();
}

void DeviceArenas::release() {
  stop_drives();
  unpin_host();
  for (DeviceMemory& memory : device_memory_) {
    if (memory.data != nullptr) device_->release(memory.data);
    memory = {};
  }
  if (scratch_ != nullptr) device_->release(scratch_);
  scratch_ = nullptr;
}

bool DeviceArenas::is_on_device(const std::byte* place) const {
  return std::any_of(device_memory_.begin(), device_memory_.end(), [&](const DeviceMemory& memory) {
    return memory.data != nullptr && place >= memory.data && place < memory.data + memory.size.count;
  });
}

void DeviceArenas::start_drives(std::span<const Program* const> programs) const {
  const auto open = [this](const DriveFile& file, std::span<const std::span<std::byte>> memory) {
    return device_->open_direct_io(file, memory);
  };
  for (Drive* drive : host_.drives()) {
    const auto of_host = memory_beside(*drive, programs, [this](const std::byte* place) { return !is_on_device(place); });
    auto of_device = memory_beside(*drive, programs, [this](const std::byte* place) { return is_on_device(place); });
    drive->start(of_host, {.memory = std::move(of_device), .open = open});
  }
}

/// What reaches into memory lets go of it before it goes.
void DeviceArenas::stop_drives() const {
  for (Drive* drive : host_.drives()) drive->stop();
}

Program DeviceArenas::program_of(const Plan& plan, const Body& body) const {
  Program program = make_program(plan, body, host_);
  for (std::size_t i = 0; i < program.uses.size(); ++i) {
    PlacedUse& use = program.uses[i];
    std::byte* memory = device_memory_[plan.buffers[program.body.list.uses[i].target].space.index].data;
    if (memory != nullptr) use.base = memory + use.offset.count;
  }
  return program;
}

void DeviceArenas::fill_canary(const Plan& plan, StreamId stream) {
  host_.fill_canary();
  for (const Arena& arena : plan.arenas) {
    std::byte* memory = device_memory(arena.space);
    if (memory != nullptr) device_->fill(stream, memory, kNan, arena.bytes);
  }
  device_->synchronize();
}

void DeviceArenas::fill_canary_outside_state(const Plan& plan, StreamId stream) {
  host_.fill_canary_outside_state(plan);
  for (const Arena& arena : plan.arenas) {
    std::byte* memory = device_memory(arena.space);
    Bytes at;
    const auto fill_until = [&](Bytes end) {
      if (memory != nullptr && end > at) device_->fill(stream, memory + at.count, kNan, end - at);
    };
    for (const auto& [begin, end] : state_ranges(plan, arena.space)) {
      fill_until(begin);
      at = std::max(at, end);
    }
    fill_until(arena.bytes);
  }
  device_->synchronize();
}

}  // namespace plimsoll
