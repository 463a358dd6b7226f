#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/plan/expand.h"
#include "executor/cpu/run_lanes.h"
#include "executor/data/counter_random.h"

namespace plimsoll::test {

/// Memory on which every instruction writes a hash of its id, its step and all that it reads: whatever comes too early
/// or too late changes what lies there in the end.
class HashingMemory {
 public:
  HashingMemory(const Plan& plan, const FlatBody& body) : plan_(plan), body_(body) {
    for (std::size_t s = 0; s < plan.platform.spaces.size(); ++s) {
      spaces_.emplace_back(static_cast<std::size_t>(plan.arena_bytes(SpaceId(s)).count), std::byte{1});
    }
  }

  Outcome apply(std::uint32_t id, std::int64_t step) {
    const Instruction& instruction = body_.list.instructions[id];
    const auto uses = body_.uses(instruction);
    if (instruction.guard != kNoGuard && !is_set(uses[instruction.guard], step)) return {.skipped = true, .report = {}};
    std::uint64_t hash = random_at(id, static_cast<std::uint64_t>(step));
    for (const Use& use : uses) {
      if (!reads(use.access)) continue;
      for (const std::byte byte : bytes_of(use, step)) hash = mix64(hash ^ std::to_integer<std::uint64_t>(byte));
    }
    for (const Use& use : uses) {
      if (!writes(use.access)) continue;
      for (std::byte& byte : bytes_of(use, step)) byte = static_cast<std::byte>(hash = mix64(hash));
    }
    return {};
  }

  [[nodiscard]] const std::vector<std::vector<std::byte>>& spaces() const { return spaces_; }

 private:
  std::span<std::byte> bytes_of(const Use& use, std::int64_t step) {
    const Buffer& buffer = plan_.buffers[use.target];
    const Bytes begin = buffer.offset_in(static_cast<std::uint64_t>(step), use.age) + use.offset;
    return std::span(spaces_[buffer.space.index])
        .subspan(static_cast<std::size_t>(begin.count), static_cast<std::size_t>(use.bytes.count));
  }

  bool is_set(const Use& flag, std::int64_t step) {
    const auto bytes = bytes_of(flag, step);
    return std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
  }

  const Plan& plan_;
  const FlatBody& body_;
  std::vector<std::vector<std::byte>> spaces_;
};

/// What `steps` steps leave behind when instructions run one after another in the order of their ids.
inline std::vector<std::vector<std::byte>> memory_in_order(const Plan& plan, const FlatBody& body,
                                                           std::uint32_t steps) {
  HashingMemory memory(plan, body);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t id = 0; id < body.size(); ++id) memory.apply(id, step);
  }
  return memory.spaces();
}

/// What they leave behind in the executor's lanes, with random delays before every instruction unless `jitter` is 0.
inline std::vector<std::vector<std::byte>> memory_in_lanes(const Plan& plan, const FlatBody& body, std::uint32_t steps,
                                                           std::uint64_t jitter) {
  HashingMemory memory(plan, body);
  run_lanes({.platform = plan.platform,
             .body = body,
             .first_step = 0,
             .steps = steps,
             .first_traced_step = 0,
             .jitter_seed = jitter,
             .stop = nullptr,
             .execute = [&](std::uint32_t id, std::int64_t step) { return memory.apply(id, step); },
             .on_step = {}});
  return memory.spaces();
}

}  // namespace plimsoll::test
