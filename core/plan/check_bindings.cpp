#include <fmt/format.h>

#include <optional>
#include <vector>

#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

/// What is wrong with an instruction, if anything.
struct Flaw {
  std::string what;
  std::string remedy;
};
using Verdict = std::optional<Flaw>;

class BindingCheck {
 public:
  explicit BindingCheck(const CheckedBody& checked) : plan_(checked.plan), flat_(checked.flat) {
    const bool turns = checked.body.name == "step";
    for (const Buffer& buffer : plan_.buffers) {
      places_.push_back({buffer.bytes, buffer.space, buffer.slots, !turns && buffer.persistent && buffer.slots > 1});
    }
  }

  [[nodiscard]] Verdict run(std::uint32_t id) const {
    const Instruction& instruction = flat_.list.instructions[id];
    for (const Dependency& dependency : flat_.dependencies(instruction)) {
      const bool earlier = dependency.distance > 0 ? dependency.target < flat_.size() : dependency.target < id;
      if (!earlier) return Flaw{fmt::format("depends on instruction {}, which is not earlier", dependency.target), {}};
    }
    for (const Use& use : flat_.uses(instruction)) {
      if (!inside(use)) return out_of_bounds(use);
      if (use.age >= places_[use.target].slots) return too_old(use);
      if (places_[use.target].fixed && writes(use.access)) return turns_versions(use);
    }
    switch (instruction.kind) {
      case InstructionKind::kLaunch:
      case InstructionKind::kHostWork:
        return in_reach(instruction);
      case InstructionKind::kCopy:
      case InstructionKind::kRead:
      case InstructionKind::kWrite:
        return route(instruction);
      case InstructionKind::kCollective:
        return in_one_memory(instruction);
      case InstructionKind::kMarker:
        return {};
    }
    return {};
  }

 private:
  /// What every use asks of its buffer, close together.
  struct Place {
    Bytes bytes;
    SpaceId space;
    std::uint32_t slots = 1;
    bool fixed = false;  ///< its slots are versions, and this body does not turn them
  };

  [[nodiscard]] bool inside(const Use& use) const {
    const Bytes size = places_[use.target].bytes;
    return use.offset.count >= 0 && use.bytes.count >= 0 && use.bytes <= size && use.offset <= size - use.bytes;
  }

  [[nodiscard]] Flaw out_of_bounds(const Use& use) const {
    const Buffer& buffer = plan_.buffers[use.target];
    return {fmt::format("uses {} bytes at {} of buffer {}, which has {}", use.bytes.count, use.offset.count,
                        buffer.name, buffer.bytes.count),
            {}};
  }

  [[nodiscard]] Flaw too_old(const Use& use) const {
    const Buffer& buffer = plan_.buffers[use.target];
    return {fmt::format("uses buffer {} at age {}, and it has {} slot{}", buffer.name, use.age, buffer.slots,
                        buffer.slots == 1 ? "" : "s"),
            fmt::format("give it {} slots", use.age + 1)};
  }

  /// Between steps, which of a state's versions is the valid one must not change.
  [[nodiscard]] Flaw turns_versions(const Use& use) const {
    return {fmt::format("writes a version of {}, which only the body 'step' may", plan_.buffers[use.target].name), {}};
  }

  /// Kernels and host work reach only the memory of the processor that their queue belongs to.
  [[nodiscard]] Verdict in_reach(const Instruction& instruction) const {
    const Processor& processor = plan_.platform.at(plan_.platform.at(instruction.queue).processor);
    for (const Use& use : flat_.uses(instruction)) {
      if (places_[use.target].space == processor.space) continue;
      const Buffer& buffer = plan_.buffers[use.target];
      return Flaw{fmt::format("runs on {} and uses buffer {}, which lies in {}", processor.name, buffer.name,
                              plan_.platform.at(buffer.space).name),
                  fmt::format("copy it to {} first", plan_.platform.at(processor.space).name)};
    }
    return {};
  }

  /// A file is read and written by reads and writes alone, and every copy follows a link; within one memory a processor
  /// that reaches it copies.
  [[nodiscard]] Verdict route(const Instruction& instruction) const {
    const auto uses = flat_.uses(instruction);
    const SpaceId source = places_[uses[0].target].space, destination = places_[uses[1].target].space;
    const MemorySpace& from = plan_.platform.at(source);
    const MemorySpace& to = plan_.platform.at(destination);
    const bool file_read = from.kind == SpaceKind::kSsd, file_write = to.kind == SpaceKind::kSsd;
    if (file_read != (instruction.kind == InstructionKind::kRead) ||
        file_write != (instruction.kind == InstructionKind::kWrite)) {
      return Flaw{fmt::format("is a {} from {} to {}", to_text(instruction.kind), from.name, to.name),
                  "a read comes from an SSD, a write goes to one"};
    }
    if (plan_.platform.link(source, destination)) return {};
    if (source == destination && from.kind != SpaceKind::kSsd) return copied_by(instruction, from);
    return Flaw{fmt::format("copies {} to {}, and no link leads from {} to {}", plan_.buffers[uses[0].target].name,
                            plan_.buffers[uses[1].target].name, from.name, to.name),
                {}};
  }

  /// What ranks exchange lies in memory, and in one.
  [[nodiscard]] Verdict in_one_memory(const Instruction& instruction) const {
    if (!instruction.exchange.valid()) return {};
    const auto uses = flat_.uses(instruction);
    for (const Use& use : uses) {
      const MemorySpace& space = plan_.platform.at(places_[use.target].space);
      const std::string& buffer = plan_.buffers[use.target].name;
      if (space.kind == SpaceKind::kSsd) return Flaw{fmt::format("exchanges {}, which lies on {}", buffer, space.name), {}};
      if (places_[use.target].space == places_[uses[0].target].space) continue;
      return Flaw{fmt::format("uses {} and {}, which lie in different memories", plan_.buffers[uses[0].target].name, buffer), {}};
    }
    return {};
  }

  [[nodiscard]] Verdict copied_by(const Instruction& instruction, const MemorySpace& within) const {
    const Queue& queue = plan_.platform.at(instruction.queue);
    if (queue.processor.valid() && &plan_.platform.at(plan_.platform.at(queue.processor).space) == &within) return {};
    return Flaw{fmt::format("copies within {}, which the processor of queue {} does not reach", within.name, queue.name),
                {}};
  }

  const Plan& plan_;
  const FlatBody& flat_;
  std::vector<Place> places_;
};

}  // namespace

Result<void> check_bindings(const CheckedBody& checked) {
  const BindingCheck check(checked);
  for (std::uint32_t id = 0; id < checked.flat.size(); ++id) {
    if (auto flaw = check.run(id)) return fail(defect_at(checked, id, std::move(flaw->what), std::move(flaw->remedy)));
  }
  return {};
}

}  // namespace plimsoll
