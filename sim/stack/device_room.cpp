#include "sim/stack/device_room.h"

#include <algorithm>
#include <iterator>

#include "formats/machines/memory_overheads.h"

namespace plimsoll {
namespace {

/// What Megatron's initialization makes beside one group a degree: that of all ranks, that over which norms and overflows are
/// told (all that hold one model), and that of the embedding, which the first stage shares with the last.
std::int64_t megatron_groups(const StackSetup& setup) {
  const bool cut = setup.tensor_ranks > 1 || setup.stages > 1, alone = !cut && setup.data_ranks == 1;
  return alone ? 0 : 1 + (cut ? 1 : 0) + (setup.stages > 1 ? 1 : 0);
}

/// NCCL's kernels and buffers for the first group of ranks, and the buffers of every further one. A driver that loads every
/// kernel at the start has loaded NCCL's.
Bytes communicators(const GpuEntry& gpu, const StackSetup& setup) {
  const std::int64_t degrees[] = {setup.data_ranks, setup.tensor_ranks, setup.stages, setup.context_ranks};
  const std::int64_t groups = std::count_if(std::begin(degrees), std::end(degrees), [](std::int64_t ranks) { return ranks > 1; }) +
                              (cuts_layers(setup) ? megatron_groups(setup) : 0);
  if (groups == 0) return {};
  Bytes bytes = device_overhead(setup.eager_modules ? "nccl_group" : "nccl", gpu);
  for (std::int64_t more = 1; more < groups; ++more) bytes += device_overhead("nccl_group", gpu);
  return bytes;
}

Bytes context_of(const GpuEntry& gpu, const StackSetup& setup) {
  if (setup.stack == Stack::kLlmc) return device_overhead("llm.c", gpu);
  return device_overhead(setup.eager_modules ? "eager_context" : "context", gpu) + communicators(gpu, setup);
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
