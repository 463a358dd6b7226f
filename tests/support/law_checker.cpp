#include "tests/support/law_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace plimsoll::test {
namespace {

using Verdict = std::optional<std::string>;

/// An instruction of a body as it runs: blocks and calls are gone.
struct Step {
  Instruction head;
  std::vector<Use> uses;                 ///< targets are buffers
  std::vector<Dependency> dependencies;  ///< targets are ids of the body
  std::set<std::uint32_t> queues;        ///< that it occupies
  bool repeats_queue = false;
};
using Steps = std::vector<Step>;

bool within(std::int64_t index, std::size_t size) { return index >= 0 && index < static_cast<std::int64_t>(size); }

/// What names nothing: point 1 and 3 speak of instructions, buffers, spaces and queues that are there.
Verdict dangling(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    if (!within(buffer.space.index, plan.platform.spaces.size())) return "a buffer of no space";
    if (buffer.bytes.count < 0 || buffer.slots < 1) return "a buffer of no size";
  }
  for (const Queue& queue : plan.platform.queues) {
    if (queue.width < 1) return "a queue that runs nothing";
  }
  for (const Block& block : plan.blocks) {
    for (const Instruction& i : block.list.instructions) {
      if (!within(i.queue.index, plan.platform.queues.size())) return "an instruction of no queue";
      if (i.kind == InstructionKind::kLaunch && !within(i.kernel.index, plan.kernels.size()))
        return "a launch of no kernel";
      if (i.guard != kNoGuard && i.guard >= i.use_count) return "a guard that is no use";
    }
    for (const Use& use : block.list.uses) {
      if (use.target >= block.slot_count) return "a use of no slot";
    }
    for (const Dependency& d : block.list.dependencies) {
      if (d.target >= (d.local ? block.list.instructions.size() : block.port_count)) return "a dependency on nothing";
    }
  }
  return std::nullopt;
}

/// Writes a body out; nothing when a call binds what is not there.
std::optional<Steps> written_out(const Plan& plan, const Body& body) {
  std::size_t size = 0;
  for (const Call& call : body.calls) size += plan.blocks[call.block.index].list.instructions.size() * call.repeat;
  Steps steps;
  for (const Call& call : body.calls) {
    const Block& block = plan.blocks[call.block.index];
    for (std::int64_t repetition = 0; repetition < call.repeat; ++repetition) {
      const std::size_t base = steps.size();
      for (const Instruction& head : block.list.instructions) {
        Step step{.head = head, .uses = {}, .dependencies = {}, .queues = {head.queue.index}};
        for (std::uint32_t u = 0; u < head.use_count; ++u) {
          Use use = block.list.uses[head.first_use + u];
          const Binding& binding = call.bindings[use.target];
          const std::int64_t buffer = binding.base.index + repetition * binding.stride;
          if (!within(buffer, plan.buffers.size())) return std::nullopt;
          use.target = static_cast<std::uint32_t>(buffer);
          step.uses.push_back(use);
        }
        for (std::uint32_t d = 0; d < head.dependency_count; ++d) {
          Dependency dependency = block.list.dependencies[head.first_dependency + d];
          const Port port = dependency.local ? Port{} : call.ports[dependency.target];
          const std::int64_t id = dependency.local ? static_cast<std::int64_t>(base + dependency.target)
                                                   : port.base + repetition * port.stride;
          if (!within(id, size)) return std::nullopt;
          step.dependencies.push_back({static_cast<std::uint32_t>(id), dependency.distance, true});
        }
        for (std::uint32_t m = 0; m < head.member_count; ++m) {
          step.repeats_queue |= !step.queues.insert(block.list.members[head.first_member + m].index).second;
        }
        steps.push_back(std::move(step));
      }
    }
  }
  return steps;
}

/// Point 3, 4: bytes [first, second) of a buffer's slot that a use of age `age` finds in step `step`.
std::pair<std::int64_t, std::int64_t> place_of(const Buffer& buffer, const Use& use, std::int64_t step) {
  const std::int64_t pitch = (buffer.bytes.count + 255) / 256 * 256;
  const std::int64_t slot = ((step - use.age) % buffer.slots + buffer.slots) % buffer.slots;
  const std::int64_t begin = buffer.offset.count + slot * pitch + use.offset.count;
  return {begin, begin + use.bytes.count};
}

Verdict memory(const Plan& plan) {
  std::map<std::uint32_t, std::int64_t> room;
  for (const Arena& arena : plan.arenas) {
    if (!within(arena.space.index, plan.platform.spaces.size())) return "an arena of no space";
    if (!room.emplace(arena.space.index, arena.bytes.count).second) return "two arenas of a space";
    if (arena.bytes.count < 0 || arena.bytes > plan.platform.spaces[arena.space.index].usable)
      return "an arena beyond what is usable";
  }
  const auto end_of = [](const Buffer& b) {
    return b.offset.count + (b.bytes.count + 255) / 256 * 256 * (b.slots - 1) + b.bytes.count;
  };
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.offset.count < 0 || buffer.offset.count % 256 != 0) return "a buffer at no multiple of 256";
    if (end_of(buffer) > room[buffer.space.index]) return "a buffer beyond its arena";
    for (const Buffer& other : plan.buffers) {
      const bool kept = buffer.persistent || other.persistent;
      if (&buffer == &other || !kept || buffer.space != other.space || buffer.bytes.count == 0 ||
          other.bytes.count == 0)
        continue;
      if (buffer.offset.count < end_of(other) && other.offset.count < end_of(buffer))
        return "a kept buffer that shares bytes";
    }
  }
  return std::nullopt;
}

/// Operands in their order, of the kernels that random plans launch (core/graph/op.h); u stands for rw, x for w or rw.
std::string operands_of(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
      return "rrw";
    case OpKind::kActivation:
      return "rw";
    case OpKind::kRopeBackward:
      return "u";
    case OpKind::kAccumulate:
      return "rx";
    case OpKind::kLinearBackwardInput:
      return "rrx";
    default:
      return "?";
  }
}

bool is_operand(char operand, Access access) {
  if (operand == 'r') return access == Access::kRead;
  if (operand == 'w') return access == Access::kWrite;
  if (operand == 'u') return access == Access::kReadWrite;
  return operand == 'x' && access != Access::kRead;
}

class InstructionLaw {
 public:
  InstructionLaw(const Plan& plan, const Body& body, const Steps& all) : plan_(plan), body_(body), all_(all) {}

  Verdict check(std::size_t id) const {
    const Step& step = all_[id];
    for (const Dependency& d : step.dependencies) {
      if (d.distance == 0 && d.target >= id) return "a dependency that is not earlier";
    }
    for (const Use& use : step.uses) {
      const Buffer& buffer = plan_.buffers[use.target];
      const bool inside =
          use.offset.count >= 0 && use.bytes.count >= 0 && use.offset.count + use.bytes.count <= buffer.bytes.count;
      if (!inside) return "a use beyond its buffer";
      if (use.age >= buffer.slots) return "a use older than its buffer's slots";
      const bool turns = use.access != Access::kRead && buffer.persistent && buffer.slots > 1;
      if (turns && body_.name != "step") return "a version that is turned outside the step";
    }
    if (step.head.task != HostTask::kNone && step.head.kind != InstructionKind::kHostWork)
      return "a task of no host work";
    if (step.head.member_count > 0 && step.head.kind != InstructionKind::kCollective) return "members of no collective";
    switch (step.head.kind) {
      case InstructionKind::kLaunch:
        return launch(step);
      case InstructionKind::kHostWork:
        return host_work(step);
      case InstructionKind::kCollective:
        return collective(step);
      case InstructionKind::kMarker:
        return step.uses.empty() ? Verdict() : "a marker that uses buffers";
      default:
        return copy(step);
    }
  }

 private:
  const Queue& queue_of(const Step& step) const { return plan_.platform.queues[step.head.queue.index]; }

  /// Everything it uses lies in its processor's memory.
  Verdict near(const Step& step) const {
    const ProcessorId processor = queue_of(step).processor;
    if (!within(processor.index, plan_.platform.processors.size())) return "work on no processor";
    for (const Use& use : step.uses) {
      if (plan_.buffers[use.target].space != plan_.platform.processors[processor.index].space)
        return "an operand elsewhere";
    }
    return std::nullopt;
  }

  Verdict launch(const Step& step) const {
    const OpKind kind = plan_.kernels[step.head.kernel.index].kind;
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < step.uses.size(); ++i) {
      if (i != step.head.guard) accesses.push_back(step.uses[i].access);
    }
    const std::string wanted = operands_of(kind);
    if (!std::equal(wanted.begin(), wanted.end(), accesses.begin(), accesses.end(), is_operand))
      return "other operands";
    const bool backward = kind == OpKind::kRopeBackward || kind == OpKind::kLinearBackwardInput;
    const bool sum = kind == OpKind::kAccumulate;
    const Phase phase = step.head.phase;
    if (backward && phase != Phase::kBackward) return "a backward kernel in another phase";
    if (sum && phase != Phase::kBackward && phase != Phase::kOptimizer) return "a sum in another phase";
    if (!backward && !sum && phase != Phase::kForward && phase != Phase::kBackward)
      return "a forward kernel in another phase";
    const QueueKind where = queue_of(step).kind;
    if (where != QueueKind::kCompute && where != QueueKind::kHostCompute) return "a kernel on a queue that runs none";
    return near(step);
  }

  Verdict host_work(const Step& step) const {
    const bool load = step.head.task == HostTask::kLoadTokens;
    if (step.head.task == HostTask::kNone) return "host work without a task";
    for (std::size_t i = 0; i < step.uses.size(); ++i) {
      if (i != step.head.guard && step.uses[i].access != (load ? Access::kWrite : Access::kRead))
        return "the wrong access of host work";
    }
    if (load && step.head.phase != Phase::kLoad) return "tokens loaded in another phase";
    return near(step);
  }

  Verdict collective(const Step& step) const {
    if (step.repeats_queue) return "a collective that names a queue twice";
    for (const std::uint32_t queue : step.queues) {
      if (plan_.platform.queues[queue].width != 1) return "a collective on a wide queue";
    }
    return std::nullopt;
  }

  Verdict copy(const Step& step) const {
    const bool guarded = step.head.guard != kNoGuard;
    if (step.uses.size() != (guarded ? 3u : 2u) || (guarded && step.head.guard != 2)) return "a copy of other than two";
    if (step.uses[0].access != Access::kRead || step.uses[1].access != Access::kWrite)
      return "a copy that does not read and write";
    if (step.uses[0].bytes != step.uses[1].bytes) return "a copy of unequal sizes";
    const SpaceId from = plan_.buffers[step.uses[0].target].space, to = plan_.buffers[step.uses[1].target].space;
    const auto is_file = [&](SpaceId space) { return plan_.platform.spaces[space.index].kind == SpaceKind::kSsd; };
    if (is_file(from) != (step.head.kind == InstructionKind::kRead)) return "a file that is not read by a read";
    if (is_file(to) != (step.head.kind == InstructionKind::kWrite)) return "a file that is not written by a write";
    for (const Link& link : plan_.platform.links) {
      if (link.from == from && link.to == to) return std::nullopt;
    }
    if (from != to || is_file(from)) return "a copy along no link";
    const ProcessorId processor = queue_of(step).processor;
    const bool reached = within(processor.index, plan_.platform.processors.size()) &&
                         plan_.platform.processors[processor.index].space == from;
    return reached ? Verdict() : "a copy within a memory that its queue does not reach";
  }

  const Plan& plan_;
  const Body& body_;
  const Steps& all_;
};

/// Points 2, 4, 9: every two uses of the same bytes, one of them a write, have a path between them.
class Conflicts {
 public:
  Conflicts(const Plan& plan, const Steps& all, std::uint32_t steps)
      : plan_(plan), all_(all), total_(all.size() * steps) {}

  Verdict check() {
    work_out_order();
    for (std::size_t later = 0; later < total_; ++later) {
      if (shares_with(later, later)) return fmt::format("two uses of instruction {} share bytes", later % all_.size());
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (!before_[later * total_ + earlier] && shares_with(earlier, later)) {
          return fmt::format("no path from {} to {}", earlier % all_.size(), later % all_.size());
        }
      }
    }
    return std::nullopt;
  }

 private:
  const Step& at(std::size_t moment) const { return all_[moment % all_.size()]; }

  void come_after(std::size_t later, std::size_t earlier) {
    for (std::size_t i = 0; i < earlier; ++i) before_[later * total_ + i] |= before_[earlier * total_ + i];
    before_[later * total_ + earlier] = 1;
  }

  void work_out_order() {
    before_.assign(total_ * total_, 0);
    std::map<std::uint32_t, std::size_t> last;  // on each queue of width 1
    for (std::size_t now = 0; now < total_; ++now) {
      for (const Dependency& d : at(now).dependencies) {
        const std::size_t step = now / all_.size();
        if (d.distance <= step) come_after(now, (step - d.distance) * all_.size() + d.target);
      }
      for (const std::uint32_t queue : at(now).queues) {
        if (plan_.platform.queues[queue].width != 1) continue;
        const auto known = last.find(queue);
        if (known != last.end()) come_after(now, known->second);
        last[queue] = now;
      }
    }
  }

  /// A guard's flag is read, whatever its access says.
  static bool writes_it(const Use& use) { return use.access != Access::kRead; }

  bool shares_with(std::size_t a, std::size_t b) const {
    const Step &first = at(a), &second = at(b);
    for (std::size_t i = 0; i < first.uses.size(); ++i) {
      for (std::size_t j = 0; j < second.uses.size(); ++j) {
        const Use &x = first.uses[i], &y = second.uses[j];
        if ((a == b && i == j) || !(writes_it(x) || writes_it(y))) continue;
        if (plan_.buffers[x.target].space != plan_.buffers[y.target].space) continue;
        const auto [x_begin, x_end] = place_of(plan_.buffers[x.target], x, static_cast<std::int64_t>(a / all_.size()));
        const auto [y_begin, y_end] = place_of(plan_.buffers[y.target], y, static_cast<std::int64_t>(b / all_.size()));
        if (std::max(x_begin, y_begin) < std::min(x_end, y_end)) return true;
      }
    }
    return false;
  }

  const Plan& plan_;
  const Steps& all_;
  std::size_t total_;
  std::vector<char> before_;  ///< [later][earlier]: it has ended when the later one starts
};

}  // namespace

std::optional<std::string> broken_law(const Plan& plan, std::uint32_t steps) {
  if (Verdict found = dangling(plan)) return found;
  if (Verdict found = memory(plan)) return found;
  for (const Body& body : plan.bodies) {
    const std::optional<Steps> all = written_out(plan, body);
    if (!all) return "a call that binds nothing";
    const InstructionLaw law(plan, body, *all);
    for (std::size_t id = 0; id < all->size(); ++id) {
      if (Verdict found = law.check(id)) return fmt::format("{}: instruction {}", *found, id);
    }
    if (Verdict found = Conflicts(plan, *all, steps).check()) return found;
  }
  return std::nullopt;
}

}  // namespace plimsoll::test
