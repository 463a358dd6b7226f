#include "core/plan/plan.h"

namespace plimsoll {

const Body* Plan::body(std::string_view name) const {
  for (const Body& candidate : bodies) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

Bytes Plan::arena_bytes(SpaceId space) const {
  for (const Arena& arena : arenas) {
    if (arena.space == space) return arena.bytes;
  }
  return Bytes(0);
}

std::string_view to_text(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kLaunch:
      return "launch";
    case InstructionKind::kCopy:
      return "copy";
    case InstructionKind::kRead:
      return "read";
    case InstructionKind::kWrite:
      return "write";
    case InstructionKind::kCollective:
      return "collective";
    case InstructionKind::kHostWork:
      return "host_work";
    case InstructionKind::kMarker:
      return "marker";
  }
  return "?";
}

std::string_view to_text(HostTask task) {
  switch (task) {
    case HostTask::kNone:
      return "none";
    case HostTask::kLoadTokens:
      return "load_tokens";
    case HostTask::kReportLoss:
      return "report_loss";
  }
  return "?";
}

}  // namespace plimsoll
