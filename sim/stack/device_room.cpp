#include "sim/stack/device_room.h"

#include <algorithm>

#include "formats/machines/memory_overheads.h"

namespace plimsoll {
namespace {

Bytes context_of(const GpuEntry& gpu, const StackSetup& setup) {
  if (setup.stack == Stack::kLlmc) return device_overhead("llm.c", gpu);
  return device_overhead(setup.eager_modules ? "eager_context" : "context", gpu);
}

}  // namespace

Bytes device_overhead(std::string_view item, const GpuEntry& gpu) {
  const MemoryOverhead* row = find_overhead(built_in_memory_overheads(), item, gpu);
  return row == nullptr ? Bytes(0) : overhead_bytes(*row, gpu);
}

DeviceRoom device_room(const GpuEntry& gpu, const StackSetup& setup) {
  DeviceRoom room{.context = context_of(gpu, setup), .others = {}, .usable = {}};
  Bytes hidden;
  for (const MemoryOverhead* row : overheads_of(gpu, setup.os, setup.desktop)) {
    if (row->item == "carve_out") hidden += overhead_bytes(*row, gpu);
    if (row->item == "desktop" || row->item == "wddm") room.others += overhead_bytes(*row, gpu);
  }
  room.usable = gpu.memory - hidden - room.context - room.others;
  if (setup.device_memory) room.usable = std::min(room.usable, *setup.device_memory);
  return room;
}

}  // namespace plimsoll
