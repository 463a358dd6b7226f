#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/plan/operand_pattern.h"
#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

/// What is wrong with an instruction, if anything.
using Flaw = std::optional<std::string>;

/// Looks at an instruction of a block alone: all that holds whatever buffers a call binds.
class TemplateCheck {
 public:
  TemplateCheck(const Plan& plan, const InstructionList& list) : plan_(plan), list_(list) {}

  [[nodiscard]] Flaw run(const Instruction& instruction) const {
    if (instruction.task != HostTask::kNone && instruction.kind != InstructionKind::kHostWork) return "has a host task";
    if (instruction.member_count != 0 && instruction.kind != InstructionKind::kCollective) {
      return "names members, which only a collective has";
    }
    if (instruction.exchange.valid() && instruction.kind != InstructionKind::kCollective) {
      return "names an exchange, which only a collective has";
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
        return instruction.use_count == 0 ? Flaw() : "is a marker and uses buffers";
    }
    return "is of no known kind";
  }

 private:
  [[nodiscard]] std::span<const Use> uses(const Instruction& instruction) const {
    return std::span(list_.uses).subspan(instruction.first_use, instruction.use_count);
  }

  /// Kernels and host work run on a processor.
  [[nodiscard]] Flaw on_processor(const Queue& queue) const {
    if (queue.processor.valid()) return {};
    return fmt::format("runs on queue {}, which has no processor", queue.name);
  }

  [[nodiscard]] Flaw launch(const Instruction& instruction) const {
    const OpKind kind = plan_.at(instruction.kernel).kind;
    if (!matches_pattern(operand_pattern(kind), uses(instruction), instruction.guard)) {
      return fmt::format("its uses are not the operands of {} in their order", to_text(kind));
    }
    if (!belongs_to_phase(kind, instruction.phase)) {
      return fmt::format("{} does not belong into the phase {}", to_text(kind), to_text(instruction.phase));
    }
    const Queue& queue = plan_.platform.at(instruction.queue);
    if (queue.kind != QueueKind::kCompute && queue.kind != QueueKind::kHostCompute) {
      return fmt::format("runs on queue {}, which runs no kernels", queue.name);
    }
    return on_processor(queue);
  }

  [[nodiscard]] Flaw copy(const Instruction& instruction) const {
    const auto of = uses(instruction);
    const std::size_t flags = instruction.guard == kNoGuard ? 0 : 1;
    if (of.size() != 2 + flags) return "does not use exactly a source and a destination";
    if (instruction.guard < 2) return "has a guard that is not its last use";
    if (of[0].access != Access::kRead || of[1].access != Access::kWrite) {
      return "does not read its first use and write its second";
    }
    if (of[0].bytes == of[1].bytes) return {};
    return fmt::format("copies {} bytes to {}", of[0].bytes.count, of[1].bytes.count);
  }

  [[nodiscard]] Flaw collective(const Instruction& instruction) const {
    const auto members = std::span(list_.members).subspan(instruction.first_member, instruction.member_count);
    std::vector<QueueId> queues(members.begin(), members.end());
    queues.push_back(instruction.queue);
    std::sort(queues.begin(), queues.end());
    if (std::adjacent_find(queues.begin(), queues.end()) != queues.end()) return "names a queue twice";
    for (const QueueId queue : queues) {
      const Queue& named = plan_.platform.at(queue);
      if (named.width != 1) return fmt::format("occupies queue {}, which is {} wide", named.name, named.width);
    }
    return {};
  }

  [[nodiscard]] Flaw host_work(const Instruction& instruction) const {
    if (instruction.task == HostTask::kNone) return "has no task";
    const bool load = instruction.task == HostTask::kLoadTokens;
    const auto of = uses(instruction);
    for (std::uint32_t i = 0; i < of.size(); ++i) {
      if (i == instruction.guard || of[i].access == (load ? Access::kWrite : Access::kRead)) continue;
      return load ? "loads tokens and does not only write" : "reports and does not only read";
    }
    if (load && instruction.phase != Phase::kLoad) {
      return fmt::format("loads tokens in the phase {}", to_text(instruction.phase));
    }
    return on_processor(plan_.platform.at(instruction.queue));
  }

  const Plan& plan_;
  const InstructionList& list_;
};

}  // namespace

Result<void> check_blocks(const Plan& plan) {
  for (const Block& block : plan.blocks) {
    const TemplateCheck check(plan, block.list);
    for (std::size_t i = 0; i < block.list.instructions.size(); ++i) {
      const Instruction& instruction = block.list.instructions[i];
      if (auto flaw = check.run(instruction)) {
        return fail({.kind = ErrorKind::kDefect,
                     .what = std::move(*flaw),
                     .where = fmt::format("block {}, {}", block.name, name_of(plan, instruction, i)),
                     .remedy = {}});
      }
    }
  }
  return {};
}

}  // namespace plimsoll
