#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// Writes small plans by hand. The platform: spaces "gpu0" (0) and "host" (1), a GPU (0) and a CPU (1); queues, links
/// and resources as the test adds them. The body "step" is one call of one block in which slot i is buffer i.
class TinyPlan {
 public:
  static constexpr SpaceId kDevice{0};
  static constexpr SpaceId kHost{1};
  static constexpr ProcessorId kGpu{0};
  static constexpr ProcessorId kCpu{1};

  TinyPlan() {
    plan_.platform.spaces = {{.name = "gpu0", .kind = SpaceKind::kDevice}, {.name = "host", .kind = SpaceKind::kHost}};
    plan_.platform.processors = {{.name = "gpu", .kind = ProcessorKind::kGpu, .space = kDevice},
                                 {.name = "cpu", .kind = ProcessorKind::kCpu, .space = kHost}};
    plan_.arenas = {{kDevice, Bytes(4096)}, {kHost, Bytes(8192)}};
    plan_.blocks.resize(1);
    plan_.blocks[0].name = "all";
    plan_.bodies = {{.name = "step", .calls = {{.block = BlockId(0)}}}};
  }

  ResourceId resource(std::string name, double capacity) {
    plan_.platform.resources.push_back({std::move(name), capacity});
    return ResourceId(plan_.platform.resources.size() - 1);
  }

  LinkId link(SpaceId from, SpaceId to, Nanoseconds latency, std::vector<Demand> path) {
    plan_.platform.links.push_back({"link", from, to, 1e9, latency, std::move(path)});
    return LinkId(plan_.platform.links.size() - 1);
  }

  QueueId queue(QueueKind kind, std::int64_t width = 1, std::vector<Demand> demands = {},
                ProcessorId processor = kGpu) {
    plan_.platform.queues.push_back({.name = "q" + std::to_string(plan_.platform.queues.size()),
                                     .kind = kind,
                                     .processor = processor,
                                     .width = width,
                                     .demands = std::move(demands)});
    return QueueId(plan_.platform.queues.size() - 1);
  }

  BufferId buffer(SpaceId space, std::int64_t bytes, TensorKind category = TensorKind::kActivation,
                  bool persistent = false, std::uint32_t slots = 1) {
    plan_.buffers.push_back({.name = "b" + std::to_string(plan_.buffers.size()),
                             .space = space,
                             .bytes = Bytes(bytes),
                             .slots = slots,
                             .category = category,
                             .persistent = persistent});
    return BufferId(plan_.buffers.size() - 1);
  }

  /// A kernel that costs `rows` nanoseconds (see FixedCosts).
  std::uint32_t launch(QueueId queue, std::int64_t rows, std::vector<Dependency> dependencies = {},
                       std::vector<Use> uses = {}, Phase phase = Phase::kForward) {
    const Kernel kernel{.shape = {.rows = rows}};
    std::uint32_t found = 0;
    while (found < plan_.kernels.size() && plan_.kernels[found] != kernel) ++found;
    if (found == plan_.kernels.size()) plan_.kernels.push_back(kernel);
    return add({.kind = InstructionKind::kLaunch, .phase = phase, .queue = queue, .kernel = KernelId(found)},
               std::move(dependencies), std::move(uses));
  }

  std::uint32_t copy(QueueId queue, BufferId from, BufferId to, std::vector<Dependency> dependencies = {}) {
    return add({.kind = InstructionKind::kCopy, .queue = queue}, std::move(dependencies),
               {whole(from, Access::kRead), whole(to, Access::kWrite)});
  }

  std::uint32_t marker(QueueId queue, std::vector<Dependency> dependencies = {}) {
    return add({.kind = InstructionKind::kMarker, .queue = queue}, std::move(dependencies), {});
  }

  std::uint32_t add(Instruction instruction, std::vector<Dependency> dependencies, std::vector<Use> uses) {
    InstructionList& list = plan_.blocks[0].list;
    instruction.first_dependency = static_cast<std::uint32_t>(list.dependencies.size());
    instruction.dependency_count = static_cast<std::uint32_t>(dependencies.size());
    instruction.first_use = static_cast<std::uint32_t>(list.uses.size());
    instruction.use_count = static_cast<std::uint32_t>(uses.size());
    list.dependencies.insert(list.dependencies.end(), dependencies.begin(), dependencies.end());
    list.uses.insert(list.uses.end(), uses.begin(), uses.end());
    list.instructions.push_back(instruction);
    return static_cast<std::uint32_t>(list.instructions.size() - 1);
  }

  [[nodiscard]] Use whole(BufferId buffer, Access access) const {
    return {.target = buffer.index, .access = access, .bytes = plan_.at(buffer).bytes};
  }

  [[nodiscard]] Plan build() const {
    Plan plan = plan_;
    Block& block = plan.blocks[0];
    block.slot_count = static_cast<std::uint32_t>(plan.buffers.size());
    std::vector<Binding>& bindings = plan.bodies[0].calls[0].bindings;
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) bindings.push_back({BufferId(i), 0});
    return plan;
  }

 private:
  Plan plan_;
};

/// The instruction with this id, `distance` steps earlier.
inline Dependency after(std::uint32_t id, std::uint32_t distance = 0) { return {.target = id, .distance = distance}; }

}  // namespace plimsoll
