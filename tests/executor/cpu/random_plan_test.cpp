#include "tests/support/random_plan.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/plan/verify_plan.h"
#include "executor/cpu/run_lanes.h"
#include "executor/data/counter_random.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kSteps = 5;

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

}  // namespace

TEST_CASE("a lawful plan leaves the same memory under any delays as in the order of its ids") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Plan plan = test::random_plan({.seed = seed, .instructions = 40});
    REQUIRE(verify_plan(plan));
    const FlatBody body = expand(plan, *plan.body("step"));
    HashingMemory in_order(plan, body);
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      for (std::uint32_t id = 0; id < body.size(); ++id) in_order.apply(id, step);
    }
    for (const std::uint64_t jitter : {std::uint64_t{0}, seed}) {
      HashingMemory in_lanes(plan, body);
      run_lanes({.platform = plan.platform,
                 .body = body,
                 .first_step = 0,
                 .steps = kSteps,
                 .first_traced_step = 0,
                 .jitter_seed = jitter,
                 .stop = nullptr,
                 .execute = [&](std::uint32_t id, std::int64_t step) { return in_lanes.apply(id, step); },
                 .on_step = {}});
      REQUIRE(in_lanes.spaces() == in_order.spaces());
    }
  }
}

TEST_CASE("a plan whose conflicts are not ordered comes out differently: the comparison can fail") {
  bool any_differs = false;
  for (std::uint64_t seed = 1; seed <= 20 && !any_differs; ++seed) {
    const Plan plan = test::random_plan({.seed = seed, .instructions = 40, .ordered = false});
    const FlatBody body = expand(plan, *plan.body("step"));
    HashingMemory in_order(plan, body);
    HashingMemory other(plan, body);
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      for (std::uint32_t id = 0; id < body.size(); ++id) in_order.apply(id, step);
    }
    // An order that the dispatcher allows, on one thread: always the last queue that is ready.
    Dispatcher dispatcher(plan.platform, body, kSteps);
    while (dispatcher.ended_steps() < kSteps) {
      for (std::size_t q = plan.platform.queues.size(); q-- > 0;) {
        const auto next = dispatcher.start(QueueId(q));
        if (!next) continue;
        other.apply(next->instruction, next->step);
        dispatcher.end(*next);
        break;
      }
    }
    any_differs = in_order.spaces() != other.spaces();
  }
  CHECK(any_differs);
}

}  // namespace plimsoll
