// Random plans, one thing in most of them changed, through verify_plan and through a checker of its own:
//   plan_laws PLANS BROKEN
// Both must say the same of every plan. Then BROKEN plans whose breach is known: each must be refused, and the error
// must name the instruction.

#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/plan/verify_plan.h"
#include "tests/support/change_plan.h"
#include "tests/support/law_checker.h"
#include "tests/support/random_plan.h"

namespace {

using namespace plimsoll;
using namespace plimsoll::test;

constexpr std::uint32_t kSteps = 12;  // 2 · lcm(1, 2, 3)
constexpr std::uint64_t kSeed = 20261122;

RandomPlanOptions options_of(std::uint64_t seed) {
  return {.seed = seed,
          .instructions = 3 + static_cast<std::uint32_t>(seed % 10),
          .buffers_per_space = 2 + static_cast<std::uint32_t>(seed % 4),
          .max_slots = 1 + static_cast<std::uint32_t>(seed / 7 % 3),
          .ssd = seed % 3 != 0,
          .direct = seed % 7 == 2,
          .overlaps = seed % 2 == 0,
          .ordered = seed % 5 != 0};
}

int complain(std::uint64_t seed, const std::string& what) {
  std::printf("plan %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  return 1;
}

/// Counts what verify_plan and the checker disagree on.
int compare_verdicts(std::uint64_t plans) {
  int disagreements = 0;
  std::uint64_t lawful = 0;
  for (std::uint64_t seed = 0; seed < plans; ++seed) {
    std::mt19937_64 random(kSeed + seed);
    const Plan plan = changed_plan(random_plan(options_of(seed)), random);
    const auto verdict = verify_plan(plan);
    const auto broken = broken_law(plan, kSteps);
    lawful += verdict ? 1 : 0;
    if (verdict.has_value() == broken.has_value()) {
      disagreements +=
          complain(seed, verdict ? "verified, but has " + *broken : "refused, but lawful: " + verdict.error().text());
    }
  }
  std::printf("%llu random plans, %llu of them lawful: %d disagreements\n", static_cast<unsigned long long>(plans),
              static_cast<unsigned long long>(lawful), disagreements);
  return disagreements;
}

bool names(const Error& error, std::uint32_t instruction) {
  return error.where.find("instruction " + std::to_string(instruction) + " (") != std::string::npos ||
         error.where.ends_with("instruction " + std::to_string(instruction));
}

/// A dependency that some path needs is taken away. The error must name an instruction that then lacks one.
int check_missing_path(std::uint64_t seed, PlanWriter writer, std::map<std::string, std::uint64_t>& ways) {
  FlatBody& body = writer.body();
  if (body.list.dependencies.empty()) return 0;
  Instruction* last = nullptr;
  for (Instruction& i : body.list.instructions) last = i.dependency_count > 0 ? &i : last;
  --last->dependency_count;
  const Plan plan = writer.finish();
  if (!broken_law(plan, kSteps)) return 0;
  ++ways["lacks a path"];
  const auto verdict = verify_plan(plan);
  if (!verdict && verdict.error().what.find("no path orders it after instruction") != std::string::npos) return 0;
  return complain(seed, verdict ? "lacks a path and was verified" : verdict.error().text());
}

int check_refusals(std::uint64_t wanted) {
  int failures = 0;
  std::uint64_t made = 0;
  std::map<std::string, std::uint64_t> ways;
  for (std::uint64_t seed = 0; made < wanted; ++seed) {
    RandomPlanOptions options = options_of(seed);
    options.ordered = true;
    const PlanWriter lawful = random_body(options);
    for (std::uint32_t way = 0; way < kWaysToBreak && made < wanted; ++way) {
      const auto id = static_cast<std::uint32_t>((seed * 31 + way * 7) % lawful.body().size());
      const BrokenBody broken = break_instruction(lawful, id, way);
      if (broken.how.empty()) continue;
      ++made;
      ++ways[broken.how];
      const auto verdict = verify_plan(broken.writer.finish());
      if (verdict) failures += complain(seed, broken.how + ": verified");
      if (!verdict && !names(verdict.error(), id)) {
        failures += complain(
            seed, broken.how + ": instruction " + std::to_string(id) + " is not named: " + verdict.error().text());
      }
    }
    failures += check_missing_path(seed, lawful, ways);
  }
  for (const auto& [how, count] : ways)
    std::printf("  %6llu %s\n", static_cast<unsigned long long>(count), how.c_str());
  std::printf("%llu plans with a known breach: %d not refused by name\n",
              static_cast<unsigned long long>(made + ways["lacks a path"]), failures);
  return failures;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("usage: plan_laws PLANS BROKEN\n", stderr), 2;
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  const int disagreements = compare_verdicts(std::strtoull(arguments[1], nullptr, 10));
  return disagreements + check_refusals(std::strtoull(arguments[2], nullptr, 10)) == 0 ? 0 : 1;
}
