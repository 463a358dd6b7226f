#include "gui/timeline/neighbours.h"

#include <algorithm>
#include <tuple>

namespace plimsoll::gui {

DependencyIndex::DependencyIndex(const FlatBody& body) {
  dependents_.reserve(body.list.dependencies.size());
  for (std::uint32_t id = 0; id < body.size(); ++id) {
    for (const Dependency& dependency : body.dependencies(body.list.instructions[id])) {
      dependents_.push_back({dependency.target, id, dependency.distance});
    }
  }
  std::sort(dependents_.begin(), dependents_.end(), [](const Dependent& a, const Dependent& b) {
    return std::tie(a.target, a.distance, a.waiter) < std::tie(b.target, b.distance, b.waiter);
  });
}

Neighbours DependencyIndex::of(const Timeline& timeline, const EventRef& ref) const {
  Neighbours found;
  const LaneEvent event = event_at(timeline, ref);
  if (event.label >= timeline.body.size()) return found;
  const auto add = [&timeline](std::vector<EventRef>& to, std::uint32_t step, std::uint32_t id) {
    if (const auto neighbour = find_event(timeline, step, id)) to.push_back(*neighbour);
  };
  for (const Dependency& dependency : timeline.body.dependencies(timeline.body.list.instructions[event.label])) {
    if (dependency.distance <= event.step) add(found.before, event.step - dependency.distance, dependency.target);
  }
  const auto first = std::lower_bound(dependents_.begin(), dependents_.end(), event.label,
                                      [](const Dependent& d, std::uint32_t wanted) { return d.target < wanted; });
  for (auto it = first; it != dependents_.end() && it->target == event.label; ++it) {
    add(found.after, event.step + it->distance, it->waiter);
  }
  return found;
}

}  // namespace plimsoll::gui
