#include "tests/support/brute_force_verify.h"

#include <vector>

namespace plimsoll::test {
namespace {

bool occupies(const FlatBody& body, const Instruction& instruction, QueueId queue) {
  if (instruction.queue == queue) return true;
  for (const QueueId member : body.members(instruction)) {
    if (member == queue) return true;
  }
  return false;
}

/// before[b][a]: a ends before b starts. a, b count through all copies.
std::vector<std::vector<bool>> reachability(const Plan& plan, const FlatBody& body, std::uint32_t steps) {
  const std::size_t size = body.size();
  const std::size_t total = size * steps;
  std::vector<std::vector<bool>> before(total, std::vector<bool>(total, false));
  const auto inherit = [&before](std::size_t later, std::size_t earlier) {
    for (std::size_t i = 0; i < earlier; ++i) {
      if (before[earlier][i]) before[later][i] = true;
    }
    before[later][earlier] = true;
  };
  for (std::size_t later = 0; later < total; ++later) {
    const Instruction& instruction = body.list.instructions[later % size];
    for (const Dependency& dependency : body.dependencies(instruction)) {
      if (dependency.distance <= later / size)
        inherit(later, (later / size - dependency.distance) * size + dependency.target);
    }
    for (std::size_t q = 0; q < plan.platform.queues.size(); ++q) {
      if (plan.platform.queues[q].width != 1 || !occupies(body, instruction, QueueId(q))) continue;
      for (std::size_t earlier = later; earlier-- > 0;) {
        if (!occupies(body, body.list.instructions[earlier % size], QueueId(q))) continue;
        inherit(later, earlier);
        break;
      }
    }
  }
  return before;
}

bool share_bytes(const Plan& plan, const Use& a, std::size_t step_a, const Use& b, std::size_t step_b) {
  const Buffer& first = plan.buffers[a.target];
  const Buffer& second = plan.buffers[b.target];
  const Bytes x = first.offset_in(step_a, a.age) + a.offset;
  const Bytes y = second.offset_in(step_b, b.age) + b.offset;
  return first.space == second.space && x < y + b.bytes && y < x + a.bytes;
}

bool conflict(const Plan& plan, const FlatBody& body, std::size_t earlier, std::size_t later) {
  const std::size_t size = body.size();
  for (const Use& a : body.uses(body.list.instructions[earlier % size])) {
    for (const Use& b : body.uses(body.list.instructions[later % size])) {
      const bool one_writes = writes(a.access) || writes(b.access);
      if (one_writes && share_bytes(plan, a, earlier / size, b, later / size)) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<UnorderedPair> find_unordered_pair(const Plan& plan, const FlatBody& body, std::uint32_t steps) {
  const std::size_t size = body.size();
  const auto before = reachability(plan, body, steps);
  for (std::size_t later = 0; later < before.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (before[later][earlier] || !conflict(plan, body, earlier, later)) continue;
      const auto narrow = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
      return UnorderedPair{narrow(earlier / size), narrow(earlier % size), narrow(later / size), narrow(later % size)};
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::test
