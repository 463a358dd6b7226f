// Random verified plans through the CPU executor's lanes with random delays before every instruction of every queue:
//   delay_stress PLANS
// Every instruction writes a hash of all that it reads. Whatever the delays, memory ends as in the order of the ids, to
// the byte.

#include <cstdio>
#include <cstdlib>

#include "core/plan/verify_plan.h"
#include "tests/support/hashing_memory.h"
#include "tests/support/random_plan.h"

namespace {

using namespace plimsoll;

constexpr std::uint32_t kSteps = 4;

test::RandomPlanOptions options_of(std::uint64_t seed) {
  return {.seed = seed,
          .instructions = 10 + static_cast<std::uint32_t>(seed % 40),
          .buffers_per_space = 3 + static_cast<std::uint32_t>(seed % 5),
          .max_slots = 1 + static_cast<std::uint32_t>(seed % 3),
          .ssd = seed % 4 != 0,
          .direct = seed % 3 == 1,
          .overlaps = seed % 2 == 0};
}

bool same_under_delays(std::uint64_t seed) {
  const Plan plan = test::random_plan(options_of(seed));
  if (const auto law = verify_plan(plan); !law) return std::printf("%s\n", law.error().text().c_str()), false;
  const FlatBody body = expand(plan, *plan.body("step"));
  const auto expected = test::memory_in_order(plan, body, kSteps);
  for (const std::uint64_t jitter : {std::uint64_t{0}, seed, seed + 0x9e3779b9}) {
    if (test::memory_in_lanes(plan, body, kSteps, jitter) == expected) continue;
    std::printf("plan %llu ends otherwise with delays of seed %llu\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(jitter));
    return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fputs("usage: delay_stress PLANS\n", stderr), 2;
  const std::uint64_t plans = std::strtoull(arguments[1], nullptr, 10);
  std::uint64_t same = 0;
  for (std::uint64_t seed = 1; seed <= plans; ++seed) same += same_under_delays(seed) ? 1 : 0;
  std::printf("%llu of %llu random plans end bitwise the same under three orders of delays\n",
              static_cast<unsigned long long>(same), static_cast<unsigned long long>(plans));
  return same == plans ? 0 : 1;
}
