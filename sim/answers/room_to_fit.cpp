#include "sim/answers/room_to_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/answers/room_bound.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// GiB that modules of one kind, two or three sizes of them, and servers' slots come to.
constexpr std::array<std::int64_t, 19> kSoldSizes{8,   12,  16,  24,  32,   48,   64,   96,   128, 192,
                                                  256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};
/// Of the sizes that hold what must be held so many are searched: the first mostly has a plan.
constexpr int kMostTries = 2;
constexpr Bytes kLargeDrive(std::int64_t{64} * 1'000'000'000'000);

ChangeAnswer change_of(std::string what, const Candidate& plan, Bytes more) {
  return {.what = std::move(what), .strategy = plan.strategy.name, .step_seconds = to_seconds(*plan.step), .more = more};
}

/// The best plan on that machine, where there is one.
std::optional<Candidate> fitting_plan(const Question& moved, const Effort& effort) {
  auto best = best_candidate(moved, effort);
  if (!best || !best->fits() || !best->step) return std::nullopt;
  return std::move(*best);
}

std::optional<ChangeAnswer> with_more_ram(const Question& question, const Effort& effort) {
  const auto host = question.platform.space(SpaceKind::kHost);
  if (!host) return std::nullopt;
  const Bytes now = question.platform.at(*host).capacity;
  int tries = 0;
  for (const std::int64_t size : kSoldSizes) {
    MachineOptions options = question.machine->options;
    options.ram = kGiB * size;
    if (*options.ram <= now) continue;
    const auto moved = on_machine(question, {question.machine->gpu, options});
    if (!moved || beyond_all_memory(*moved).count > 0) continue;
    if (tries++ == kMostTries) break;
    if (const auto plan = fitting_plan(*moved, effort))
      return change_of(fmt::format("{} of RAM", to_text(*options.ram)), *plan, *options.ram - now);
  }
  return std::nullopt;
}

Bytes usable_on_drives(const Platform& platform) {
  const auto ssd = platform.space(SpaceKind::kSsd);
  return ssd ? platform.at(*ssd).usable : Bytes(0);
}

Bytes taken_on_drives(const Platform& platform, const Candidate& plan) {
  const auto ssd = platform.space(SpaceKind::kSsd);
  for (const SpaceNeed& need : plan.needs) {
    if (ssd && need.space == *ssd) return need.needed;
  }
  return Bytes(0);
}

/// Of the rates that the drives there have, or are assumed to have.
std::optional<ChangeAnswer> with_a_drive(const Question& question, const Effort& effort) {
  const Bytes now = usable_on_drives(question.platform);
  MachineOptions options = question.machine->options;
  options.ssd = kLargeDrive;
  const auto moved = on_machine(question, {question.machine->gpu, options});
  if (!moved) return std::nullopt;
  const auto plan = fitting_plan(*moved, effort);
  if (!plan) return std::nullopt;
  const Bytes taken = taken_on_drives(moved->platform, *plan);
  if (taken <= now) return std::nullopt;
  return change_of(fmt::format("an SSD with {} free", to_text(taken)), *plan, taken - now);
}

}  // namespace

std::vector<ChangeAnswer> room_to_fit(const Question& question, std::size_t instruction_budget,
                                      const std::shared_ptr<KnownPackings>& packings) {
  std::vector<ChangeAnswer> changes;
  if (question.stack || !question.machine) return changes;
  const Effort effort{.instruction_budget = instruction_budget, .packings = packings};
  std::optional<ChangeAnswer> ram, drive;
  const auto look = [&](std::size_t which) { which == 0 ? drive = with_a_drive(question, effort) : ram = with_more_ram(question, effort); };
  parallel_for(2, look);
  if (ram) changes.push_back(std::move(*ram));
  if (drive) changes.push_back(std::move(*drive));
  for (ChangeAnswer& change : changes) change.at_most = instruction_budget < kInstructionBudget;
  return changes;
}

}  // namespace plimsoll
