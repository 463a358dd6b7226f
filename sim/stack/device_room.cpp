#include "sim/stack/device_room.h"

#include <algorithm>
#include <vector>

#include "formats/machines/memory_overheads.h"
#include "sim/stack/communicator_memory.h"
#include "sim/stack/node_placement.h"

namespace plimsoll {
namespace {

bool is_on_several_nodes(const GpuEntry& gpu, const StackSetup& setup) {
  const auto placed = place_on_nodes(gpu, gpus_of(setup), setup.nodes, setup.network);
  return placed && placed->nodes() > 1;
}

/// Groups of ranks that a program makes communicators for, and how many are in each. Megatron's initialization makes beside one
/// a degree that of all ranks, that over which norms and overflows are told (all that hold one model), and that of the embedding,
/// which the first stage shares with the last.
std::vector<CommunicatorShape> groups_of(const GpuEntry& gpu, const StackSetup& setup) {
  const bool several = is_on_several_nodes(gpu, setup);
  std::vector<CommunicatorShape> groups;
  const auto add = [&](std::int64_t ranks, bool leaves_node) {
    // NCCL makes a communicator's pool at its start since 2.12, of the spring in which CUDA began to load kernels when they are needed.
    if (ranks > 1) groups.push_back({.ranks = ranks, .leaves_node = leaves_node, .makes_pool = !setup.eager_modules});
  };
  add(setup.data_ranks, several);
  add(setup.tensor_ranks, false);
  add(setup.stages, several);
  add(setup.context_ranks, false);
  if (!cuts_layers(setup)) return groups;
  add(gpus_of(setup), several);
  add(setup.tensor_ranks * setup.stages, several && setup.stages > 1);
  if (setup.stages > 1) add(2, several);
  return groups;
}

/// NCCL's kernels, which a driver that loads every kernel at the start has loaded already, and what each group's communicator takes.
Bytes communicators(const GpuEntry& gpu, const StackSetup& setup) {
  const auto groups = groups_of(gpu, setup);
  if (groups.empty()) return {};
  Bytes bytes = setup.eager_modules ? Bytes(0) : device_overhead("nccl_kernels", gpu);
  for (const CommunicatorShape& group : groups) bytes += communicator_memory(gpu, group);
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
