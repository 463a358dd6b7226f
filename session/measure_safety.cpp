#include "session/measure_safety.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/graph/saved_state.h"
#include "executor/checkpoint/save_rates.h"
#include "sim/planner/safety_cost.h"

namespace plimsoll {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

bool is_on_drive(const Plan& plan, const StateBinding& state) {
  return plan.platform.at(plan.at(state.buffer).space).kind == SpaceKind::kSsd;
}

/// Weights and moments that the plans keep on a drive.
Bytes state_on_drive(std::span<const Plan> plans) {
  Bytes bytes;
  for (const Plan& plan : plans) {
    for (const StateBinding& state : plan.state) {
      if (is_on_drive(plan, state)) bytes += plan.at(state.buffer).bytes;
    }
  }
  return bytes;
}

/// The states that are in memory, one after another and again: a save reads them from there, not from a processor's cache, and
/// those of other ranks through the executor. Plans that keep all on a drive have a buffer of their own to save from.
TrialBytes bytes_in_memory(std::span<const Plan> plans, const Executor& executor) {
  std::vector<StateBinding> states;
  std::set<std::pair<TensorKind, GroupId>> seen;  // replicas have the same ones
  for (const Plan& plan : plans) {
    for (const StateBinding& state : plan.state) {
      const bool in_memory = !is_on_drive(plan, state) && plan.at(state.buffer).bytes > Bytes(0);
      if (in_memory && seen.emplace(state.kind, state.group).second) states.push_back(state);
    }
  }
  if (states.empty()) {
    return [piece = std::vector<std::byte>(kPiece, std::byte{0x5a})](std::size_t) { return std::span<const std::byte>(piece); };
  }
  return [states, &executor](std::size_t call) {
    const StateBinding& state = states[call % states.size()];
    return executor.state(state.kind, state.group);
  };
}

Nanoseconds median(std::vector<Nanoseconds> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

Result<std::optional<SafetyAnswer>> predict_safety(const RunRequest& request, std::span<const Plan> plans, Nanoseconds step,
                                                   const Executor& executor) {
  const Safety safety{request.schedule.durability, request.schedule.save_every};
  if (safety.durability == Durability::kNone) return std::nullopt;
  const WritePlace place = safety.durability == Durability::kStep ? WritePlace::kInPlace : WritePlace::kOverSpare;
  const Plan& plan = plans.front();
  const auto rates = measure_save_rates(request.output, saved_state_bytes(plan.spec, plan.recipe), place,
                                        bytes_in_memory(plans, executor));
  if (!rates) return fail(rates.error());
  std::optional<SaveSpeed> speed = save_speed(plan.platform);  // of the drive that states are read from
  if (!speed) speed.emplace();
  speed->write_bytes_per_second = rates->bytes_per_second;
  speed->seconds_each = rates->seconds_each;
  speed->source = fmt::format("measured with files of {} beside the run file", to_text(rates->measured));
  return safety_cost(plan.spec, plan.recipe, safety, state_on_drive(plans), speed, to_seconds(step));
}

void SafetySpent::add(const SavedState& state) {
  took_.push_back(state.took);
  bytes_ = state.bytes;
}

std::optional<Nanoseconds> SafetySpent::foretold() const {
  return took_.size() == kFirst ? std::optional(median({took_.begin() + kFresh, took_.end()})) : std::nullopt;
}

void SafetySpent::put_into(SafetyAnswer& answer) const {
  if (took_.empty()) return;
  answer.measured = {.times = static_cast<std::int64_t>(took_.size()),
                     .written_each = bytes_,
                     .seconds_each = to_seconds(median(took_))};
  if (took_.size() <= kFirst) return;
  const auto first = took_.begin() + kFresh, later = took_.begin() + kFirst;
  answer.learned = {.from = kFirst,
                    .seconds_each = to_seconds(median({first, later})),
                    .later = static_cast<std::int64_t>(took_.end() - later),
                    .later_seconds_each = to_seconds(median({later, took_.end()}))};
}

}  // namespace plimsoll
