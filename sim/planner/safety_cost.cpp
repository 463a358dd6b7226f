#include "sim/planner/safety_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/saved_state.h"

namespace plimsoll {
namespace {

/// Files that are there at once while one is written: the newest, and the one of two before, which is written over; of
/// steps both, and the checkpoint in the end, beside an older one where there are such.
std::int64_t files_at_once(const Safety& safety) {
  switch (safety.durability) {
    case Durability::kNone: return 1;
    case Durability::kCheckpoint:
      return 2;
    case Durability::kStep: return safety.every > 0 ? 4 : 3;
  }
  return 1;
}

}  // namespace

std::optional<SaveSpeed> save_speed(const Platform& platform) {
  const auto drive = platform.space(SpaceKind::kSsd);
  if (!drive) return std::nullopt;
  SaveSpeed speed{.source = "the rates of " + platform.at(*drive).name + "; waiting for the disk's own cache is not in it"};
  double read = 0;
  for (const Link& link : platform.links) {
    if (link.to == *drive && link.bytes_per_second > speed.write_bytes_per_second) {
      speed.write_bytes_per_second = link.bytes_per_second;
      speed.seconds_each = to_seconds(link.latency);
    }
    if (link.from == *drive) read = std::max(read, link.bytes_per_second);
  }
  if (read > 0) speed.read_bytes_per_second = read;
  return speed.write_bytes_per_second > 0 ? std::optional(std::move(speed)) : std::nullopt;
}

SafetyAnswer safety_cost(const ModelSpec& spec, const Recipe& recipe, const Safety& safety, Bytes on_drive,
                         const std::optional<SaveSpeed>& speed, double step_seconds) {
  const Bytes state = saved_state_bytes(spec, recipe);
  SafetyAnswer answer{.safety = safety, .written_each = state, .read_each = std::min(on_drive, state)};
  answer.room = Bytes(state.count * files_at_once(safety));
  if (!speed || (answer.read_each.count > 0 && !speed->read_bytes_per_second)) {
    answer.source = "nobody knows how fast the drive is: say --ssd SIZE:READ,WRITE";
    return answer;
  }
  answer.seconds_each = speed->seconds_each + static_cast<double>(state.count) / speed->write_bytes_per_second;
  if (answer.read_each.count > 0) *answer.seconds_each += static_cast<double>(answer.read_each.count) / *speed->read_bytes_per_second;
  answer.source = speed->source;
  answer.step_share = step_share(answer, step_seconds);
  return answer;
}

std::optional<double> step_share(const SafetyAnswer& answer, double step_seconds) {
  const std::int64_t every = answer.every();
  if (!answer.seconds_each || every <= 0 || step_seconds <= 0) return std::nullopt;
  return *answer.seconds_each / static_cast<double>(every) / step_seconds;
}

Bytes state_on_drive(const FitAnswer& answer) {
  Bytes bytes;
  for (const SpaceAnswer& space : answer.memory) {
    if (space.space.starts_with("ssd")) bytes += space.by_category.parameters + space.by_category.optimizer;
  }
  return bytes;
}

}  // namespace plimsoll
