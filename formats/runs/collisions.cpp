#include "formats/runs/collisions.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::size_t kMostChanges = 4;

std::vector<CollisionAnswer::Demand> demands_of(const SpaceAnswer& space) {
  const auto& by = space.by_category;
  std::vector<CollisionAnswer::Demand> demands{{"parameters", by.parameters}, {"gradients", by.gradients},
                                               {"optimizer", by.optimizer},   {"activations", by.activations},
                                               {"workspace", by.workspace},   {"framework", by.framework}};
  Bytes rest = space.peak;
  for (const auto& demand : demands) rest -= demand.bytes;
  demands.push_back({"gaps between buffers", rest});
  std::erase_if(demands, [](const auto& demand) { return demand.bytes <= Bytes(0); });
  std::stable_sort(demands.begin(), demands.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return demands;
}

Bytes sum_of(const std::vector<CollisionAnswer::Demand>& demands) {
  Bytes sum;
  for (const auto& demand : demands) sum += demand.bytes;
  return sum;
}

/// "2.10 GiB more of gpu0 and 1.00 GiB more of host"; GPUs of a node share its host memory.
std::string more_of(const std::vector<ShortSpaceAnswer>& short_of, std::int64_t gpus) {
  std::string text;
  for (const ShortSpaceAnswer& space : short_of) {
    text += fmt::format("{}{} more of {}", text.empty() ? "" : " and ", to_text(space.needed - space.usable), space.space);
    if (gpus > 1 && space.space == "host") text += " for each rank of a node";
  }
  return text;
}

ChangeAnswer change_of(const std::string& strategy, double seconds, const std::vector<ShortSpaceAnswer>& short_of, std::int64_t gpus) {
  ChangeAnswer change{.what = more_of(short_of, gpus), .strategy = strategy, .step_seconds = seconds, .more = {}};
  for (const ShortSpaceAnswer& space : short_of) change.more += space.needed - space.usable;
  return change;
}

std::vector<ShortSpaceAnswer> own_shortage(const FitAnswer& answer) {
  std::vector<ShortSpaceAnswer> short_of;
  for (const SpaceAnswer& space : answer.memory) {
    if (space.margin() < Bytes(0)) short_of.push_back({space.space, space.peak, space.usable});
  }
  return short_of;
}

}  // namespace

std::vector<CollisionAnswer> collisions_of(const FitAnswer& answer) {
  std::vector<CollisionAnswer> collisions;
  for (const SpaceAnswer& space : answer.memory) {
    if (space.margin() >= Bytes(0)) continue;
    CollisionAnswer collision{space.space, space.usable, demands_of(space)};
    auto& demands = collision.demands;
    for (std::size_t i = demands.size(); i-- > 0;) {
      const auto left_out = demands[i];
      demands.erase(demands.begin() + static_cast<std::ptrdiff_t>(i));
      if (sum_of(demands) > space.usable) continue;
      demands.insert(demands.begin() + static_cast<std::ptrdiff_t>(i), left_out);
    }
    collisions.push_back(std::move(collision));
  }
  return collisions;
}

std::vector<ChangeAnswer> memory_changes(const FitAnswer& answer) {
  if (answer.fits) return {};
  std::vector<ChangeAnswer> changes;
  if (const auto own = own_shortage(answer); !own.empty()) {
    changes.push_back(change_of(answer.strategy.name, answer.step_seconds, own, answer.gpus));
  }
  for (const AlternativeAnswer& other : answer.alternatives) {
    if (!other.fits()) changes.push_back(change_of(other.strategy, other.step_seconds, other.short_of, answer.gpus));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const ChangeAnswer& a, const ChangeAnswer& b) {
    return a.more != b.more ? a.more < b.more : a.step_seconds < b.step_seconds;
  });
  // More memory is asked for only by what is faster.
  std::vector<ChangeAnswer> kept;
  for (ChangeAnswer& change : changes) {
    if (kept.size() < kMostChanges && (kept.empty() || change.step_seconds < kept.back().step_seconds))
      kept.push_back(std::move(change));
  }
  return kept;
}

std::vector<ChangeAnswer> changes_of(const FitAnswer& answer) {
  std::vector<ChangeAnswer> changes = answer.smaller;  // which cost nothing
  changes.insert(changes.end(), answer.larger.begin(), answer.larger.end());
  const std::vector<ChangeAnswer> memory = memory_changes(answer);
  changes.insert(changes.end(), memory.begin(), memory.end());
  return changes;
}

}  // namespace plimsoll
