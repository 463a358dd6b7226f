#include "core/plan/verify_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/plan_checks.h"

namespace plimsoll {

std::string name_of(const Plan& plan, const Instruction& instruction, std::size_t id) {
  std::string text(to_text(instruction.kind));
  if (instruction.kind == InstructionKind::kLaunch)
    text += fmt::format(" {}", to_text(plan.at(instruction.kernel).kind));
  if (instruction.kind == InstructionKind::kHostWork) text += fmt::format(" {}", to_text(instruction.task));
  if (instruction.exchange.valid()) text = to_text(plan.at(instruction.exchange).kind);
  if (instruction.layer >= 0) text += fmt::format(", layer {}", instruction.layer);
  return fmt::format("instruction {} ({})", id, text);
}

Error defect_at(const CheckedBody& checked, std::uint32_t id, std::string what, std::string remedy) {
  return {.kind = ErrorKind::kDefect,
          .what = std::move(what),
          .where = fmt::format("body {}, {}", checked.body.name,
                               name_of(checked.plan, checked.flat.list.instructions[id], id)),
          .remedy = std::move(remedy)};
}

Result<VerifyReport> verify_plan(const Plan& plan) {
  if (auto ok = check_indices(plan); !ok) return fail(ok.error());
  if (auto ok = check_blocks(plan); !ok) return fail(ok.error());
  if (auto ok = check_exchanges(plan); !ok) return fail(ok.error());
  if (auto ok = check_capacity(plan); !ok) return fail(ok.error());
  VerifyReport report;
  for (const Body& body : plan.bodies) {
    const FlatBody flat = expand(plan, body);
    const CheckedBody checked{plan, body, flat};
    if (auto ok = check_bindings(checked); !ok) return fail(ok.error());
    if (auto ok = check_conflicts(checked, report); !ok) return fail(ok.error());
    report.instructions += flat.size();
  }
  return report;
}

}  // namespace plimsoll
