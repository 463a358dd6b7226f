#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/plan/operand_pattern.h"
#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

/// What is wrong with an instruction, if anything.
struct Flaw {
  std::string what;
  std::string remedy;
};
using Verdict = std::optional<Flaw>;

class InstructionCheck {
 public:
  explicit InstructionCheck(const CheckedBody& checked) : plan_(checked.plan), flat_(checked.flat) {
    for (const Buffer& buffer : plan_.buffers) places_.push_back({buffer.bytes, buffer.space});
  }

  [[nodiscard]] Verdict run(std::uint32_t id) const {
    const Instruction& instruction = flat_.list.instructions[id];
    if (auto flaw = dependencies(instruction, id)) return flaw;
    if (auto flaw = bounds(instruction)) return flaw;
    if (instruction.task != HostTask::kNone && instruction.kind != InstructionKind::kHostWork)
      return Flaw{"has a host task", {}};
    if (instruction.member_count != 0 && instruction.kind != InstructionKind::kCollective) {
      return Flaw{"names members, which only a collective has", {}};
    }
    switch (instruction.kind) {
      case InstructionKind::kLaunch:
        return launch(instruction);
      case InstructionKind::kCopy:
      case InstructionKind::kRead:
      case InstructionKind::kWrite:
        return copy(instruction);
      case InstructionKind::kCollective:
        return collective(instruction);
      case InstructionKind::kHostWork:
        return host_work(instruction);
      case InstructionKind::kMarker:
        return instruction.use_count == 0 ? Verdict() : Flaw{"is a marker and uses buffers", {}};
    }
    return Flaw{"is of no known kind", {}};
  }

 private:
  [[nodiscard]] Verdict dependencies(const Instruction& instruction, std::uint32_t id) const {
    for (const Dependency& dependency : flat_.dependencies(instruction)) {
      const bool earlier = dependency.distance > 0 ? dependency.target < flat_.size() : dependency.target < id;
      if (!earlier) return Flaw{fmt::format("depends on instruction {}, which is not earlier", dependency.target), {}};
    }
    return {};
  }

  [[nodiscard]] Verdict bounds(const Instruction& instruction) const {
    for (const Use& use : flat_.uses(instruction)) {
      const Bytes size = places_[use.target].bytes;
      if (use.offset.count >= 0 && use.bytes.count >= 0 && use.bytes <= size && use.offset <= size - use.bytes)
        continue;
      return Flaw{fmt::format("uses {} bytes at {} of buffer {}, which has {}", use.bytes.count, use.offset.count,
                              plan_.buffers[use.target].name, size.count),
                  {}};
    }
    return {};
  }

  /// Kernels and host work reach only the memory of the processor that their queue belongs to.
  [[nodiscard]] Verdict in_reach(const Instruction& instruction) const {
    const Queue& queue = plan_.platform.at(instruction.queue);
    if (!queue.processor.valid()) return Flaw{fmt::format("runs on queue {}, which has no processor", queue.name), {}};
    const Processor& processor = plan_.platform.at(queue.processor);
    for (const Use& use : flat_.uses(instruction)) {
      if (places_[use.target].space == processor.space) continue;
      const Buffer& buffer = plan_.buffers[use.target];
      return Flaw{fmt::format("runs on {} and uses buffer {}, which lies in {}", processor.name, buffer.name,
                              plan_.platform.at(buffer.space).name),
                  fmt::format("copy it to {} first", plan_.platform.at(processor.space).name)};
    }
    return {};
  }

  [[nodiscard]] Verdict launch(const Instruction& instruction) const {
    const OpKind kind = plan_.at(instruction.kernel).kind;
    if (!matches_pattern(operand_pattern(kind), flat_.uses(instruction), instruction.guard)) {
      return Flaw{fmt::format("its uses are not the operands of {} in their order", to_text(kind)), {}};
    }
    if (!belongs_to_phase(kind, instruction.phase)) {
      return Flaw{fmt::format("{} does not belong into the phase {}", to_text(kind), to_text(instruction.phase)), {}};
    }
    const QueueKind queue = plan_.platform.at(instruction.queue).kind;
    if (queue != QueueKind::kCompute && queue != QueueKind::kHostCompute) {
      return Flaw{fmt::format("runs on queue {}, which runs no kernels", plan_.platform.at(instruction.queue).name),
                  {}};
    }
    return in_reach(instruction);
  }

  [[nodiscard]] Verdict copy(const Instruction& instruction) const {
    const auto uses = flat_.uses(instruction);
    if (uses.size() - (instruction.guard == kNoGuard ? 0 : 1) != 2)
      return Flaw{"does not use exactly a source and a destination", {}};
    if (instruction.guard < 2) return Flaw{"has a guard that is not its last use", {}};
    if (uses[0].access != Access::kRead || uses[1].access != Access::kWrite) {
      return Flaw{"does not read its first use and write its second", {}};
    }
    if (uses[0].bytes != uses[1].bytes) {
      return Flaw{fmt::format("copies {} bytes to {}", uses[0].bytes.count, uses[1].bytes.count), {}};
    }
    return route(instruction.kind, plan_.buffers[uses[0].target], plan_.buffers[uses[1].target]);
  }

  [[nodiscard]] Verdict route(InstructionKind kind, const Buffer& source, const Buffer& destination) const {
    const MemorySpace& from = plan_.platform.at(source.space);
    const MemorySpace& to = plan_.platform.at(destination.space);
    const bool file_read = from.kind == SpaceKind::kSsd;
    const bool file_write = to.kind == SpaceKind::kSsd;
    if (file_read != (kind == InstructionKind::kRead) || file_write != (kind == InstructionKind::kWrite)) {
      return Flaw{fmt::format("is a {} from {} to {}", to_text(kind), from.name, to.name),
                  "a read comes from an SSD, a write goes to one"};
    }
    if (plan_.platform.link(source.space, destination.space)) return {};
    return Flaw{fmt::format("copies {} to {}, and no link leads from {} to {}", source.name, destination.name,
                            from.name, to.name),
                {}};
  }

  [[nodiscard]] Verdict collective(const Instruction& instruction) const {
    const auto members = flat_.members(instruction);
    std::vector<QueueId> queues(members.begin(), members.end());
    queues.push_back(instruction.queue);
    std::sort(queues.begin(), queues.end());
    if (std::adjacent_find(queues.begin(), queues.end()) != queues.end()) return Flaw{"names a queue twice", {}};
    for (const QueueId queue : queues) {
      const Queue& named = plan_.platform.at(queue);
      if (named.width != 1)
        return Flaw{fmt::format("occupies queue {}, which is {} wide", named.name, named.width), {}};
    }
    return {};
  }

  [[nodiscard]] Verdict host_work(const Instruction& instruction) const {
    if (instruction.task == HostTask::kNone) return Flaw{"has no task", {}};
    const bool load = instruction.task == HostTask::kLoadTokens;
    const auto uses = flat_.uses(instruction);
    for (std::uint32_t i = 0; i < uses.size(); ++i) {
      if (i == instruction.guard || uses[i].access == (load ? Access::kWrite : Access::kRead)) continue;
      return Flaw{load ? "loads tokens and does not only write" : "reports and does not only read", {}};
    }
    if (load && instruction.phase != Phase::kLoad)
      return Flaw{fmt::format("loads tokens in the phase {}", to_text(instruction.phase)), {}};
    return in_reach(instruction);
  }

  /// What every use asks of its buffer, close together.
  struct Place {
    Bytes bytes;
    SpaceId space;
  };

  const Plan& plan_;
  const FlatBody& flat_;
  std::vector<Place> places_;
};

}  // namespace

Result<void> check_structure(const CheckedBody& checked) {
  const InstructionCheck check(checked);
  for (std::uint32_t id = 0; id < checked.flat.size(); ++id) {
    if (auto flaw = check.run(id)) return fail(defect_at(checked, id, std::move(flaw->what), std::move(flaw->remedy)));
  }
  return {};
}

}  // namespace plimsoll
