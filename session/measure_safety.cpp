#include "session/measure_safety.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/saved_state.h"
#include "executor/checkpoint/save_rates.h"
#include "sim/planner/safety_cost.h"

namespace plimsoll {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

/// Weights and moments that the plan keeps on a drive.
Bytes state_on_drive(const Plan& plan) {
  Bytes bytes;
  for (const StateBinding& state : plan.state) {
    const Buffer& buffer = plan.at(state.buffer);
    if (plan.platform.at(buffer.space).kind == SpaceKind::kSsd) bytes += buffer.bytes;
  }
  return bytes;
}

/// The states that are in memory, one after another and again: a save reads them from there, not from a processor's cache. A plan
/// that keeps all on a drive has a buffer of its own to save from.
TrialBytes bytes_in_memory(const Plan& plan, const Executor& executor) {
  std::vector<StateBinding> states;
  for (const StateBinding& state : plan.state) {
    const Buffer& buffer = plan.at(state.buffer);
    if (plan.platform.at(buffer.space).kind != SpaceKind::kSsd && buffer.bytes > Bytes(0)) states.push_back(state);
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

Result<std::optional<SafetyAnswer>> predict_safety(const RunRequest& request, const Plan& plan, const Prediction& prediction,
                                                   const Executor& executor) {
  const Safety safety{request.schedule.durability, request.schedule.save_every};
  if (safety.durability == Durability::kNone) return std::nullopt;
  const WritePlace place = safety.durability == Durability::kStep ? WritePlace::kInPlace : WritePlace::kOverSpare;
  const auto rates = measure_save_rates(request.output, saved_state_bytes(plan.spec, plan.recipe), place,
                                        bytes_in_memory(plan, executor));
  if (!rates) return fail(rates.error());
  std::optional<SaveSpeed> speed = save_speed(plan.platform);  // of the drive that states are read from
  if (!speed) speed.emplace();
  speed->write_bytes_per_second = rates->bytes_per_second;
  speed->seconds_each = rates->seconds_each;
  speed->source = fmt::format("measured with files of {} beside the run file", to_text(rates->measured));
  return safety_cost(plan.spec, plan.recipe, safety, state_on_drive(plan), speed, to_seconds(prediction.step));
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
