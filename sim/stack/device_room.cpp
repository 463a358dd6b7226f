#include "sim/stack/device_room.h"

#include <algorithm>
#include <vector>

#include "formats/machines/memory_overheads.h"
#include "sim/stack/communicator_memory.h"
#include "sim/stack/node_placement.h"
#include "sim/stack/sequence_ranks.h"

namespace plimsoll {
namespace {

/// How a program's groups lie on nodes: ranks in Megatron-LM's order (tensor, context, data, stages).
class GroupsOnNodes {
 public:
  GroupsOnNodes(const GpuEntry& gpu, const StackSetup& setup) : setup_(setup) {
    if (const auto placed = place_on_nodes(gpu, gpus_of(setup), {setup.nodes, setup.network, setup.peers})) placed_ = *placed;
  }

  /// Of `ranks` that lie `stride` GPUs apart, each of which may stand for a run of `beside` neighbours in the same group.
  void add(std::int64_t ranks, std::int64_t stride, std::int64_t beside = 1) {
    if (ranks * beside < 2) return;
    const std::int64_t here = placed_.ranks_per_node(ranks, stride) * placed_.ranks_per_node(beside, 1);
    const bool leaves = placed_.nodes() > 1 && here < ranks * beside;
    // NCCL makes a communicator's pool at its start since 2.12, of the spring in which CUDA began to load kernels when they are needed.
    groups_.push_back({.ranks = ranks * beside, .adapters = leaves ? std::min(here, placed_.adapters) : 0, .makes_pool = !setup_.eager_modules});
  }

  [[nodiscard]] const std::vector<CommunicatorShape>& groups() const { return groups_; }

 private:
  const StackSetup& setup_;
  NodePlacement placed_;
  std::vector<CommunicatorShape> groups_;
};

/// Groups of ranks that a program makes communicators for. Megatron's initialization makes beside one a degree that of all ranks,
/// that over which norms and overflows are told (all that hold one model), and that of the embedding, which the first stage shares
/// with the last.
std::vector<CommunicatorShape> groups_of(const GpuEntry& gpu, const StackSetup& setup) {
  GroupsOnNodes groups(gpu, setup);
  const std::int64_t of_data = setup.tensor_ranks * setup.context_ranks;
  const std::int64_t of_stages = of_data * setup.data_ranks;
  if (shares_sequence(setup)) {
    groups.add(zero_ranks(setup), 1);
  } else {
    groups.add(setup.data_ranks, of_data);
  }
  groups.add(setup.tensor_ranks, 1);
  groups.add(setup.stages, of_stages);
  groups.add(setup.context_ranks, setup.tensor_ranks);
  if (!cuts_layers(setup)) return groups.groups();
  if (setup.expert_ranks > 1 || setup.expert_tensor_ranks.value_or(setup.tensor_ranks) != setup.tensor_ranks) {
    const std::int64_t each = setup.expert_tensor_ranks.value_or(setup.tensor_ranks), sharing = each * setup.expert_ranks;
    groups.add(setup.expert_ranks, each);
    groups.add(sharing, 1);
    groups.add(of_stages / sharing, sharing);
  }
  groups.add(gpus_of(setup), 1);
  groups.add(setup.stages, of_stages, setup.tensor_ranks);
  if (setup.stages > 1) groups.add(2, of_stages * (setup.stages - 1));
  return groups.groups();
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

Bytes carve_out(const GpuEntry& gpu, const StackSetup& setup) {
  Bytes hidden;
  for (const MemoryOverhead* row : overheads_of(gpu, setup.os, setup.desktop)) {
    if (row->item == "carve_out") hidden += overhead_bytes(*row, gpu);
  }
  return hidden;
}

}  // namespace

Bytes vllm_memory(const GpuEntry& gpu, const StackSetup& setup) {
  const PreferenceSetup& preference = setup.preference;
  if (!preference.writes() || preference.rollout != Rollout::kVllm) return {};
  const Bytes visible = gpu.memory - carve_out(gpu, setup);
  const Bytes all = setup.device_memory ? std::min(visible, *setup.device_memory) : visible;
  return Bytes(static_cast<std::int64_t>(preference.vllm_share * static_cast<double>(all.count)));
}

Bytes device_overhead(std::string_view item, const GpuEntry& gpu) {
  const MemoryOverhead* row = find_overhead(built_in_memory_overheads(), item, gpu);
  return row == nullptr ? Bytes(0) : overhead_bytes(*row, gpu);
}

DeviceRoom device_room(const GpuEntry& gpu, const StackSetup& setup) {
  const Bytes vllm = vllm_memory(gpu, setup);
  DeviceRoom room{.context = context_of(gpu, setup), .others = vllm, .usable = {}};
  for (const MemoryOverhead* row : overheads_of(gpu, setup.os, setup.desktop)) {
    if (row->item == "desktop" || row->item == "wddm") room.others += overhead_bytes(*row, gpu);
  }
  room.usable = gpu.memory - carve_out(gpu, setup) - room.context - room.others;
  if (setup.device_memory) room.usable = std::min(room.usable, *setup.device_memory - vllm);
  room.usable = std::max(room.usable, Bytes(0));
  return room;
}

}  // namespace plimsoll
