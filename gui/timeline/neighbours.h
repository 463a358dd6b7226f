#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// Events that an event waits for, and those that wait for it, by the plan's dependencies.
struct Neighbours {
  std::vector<EventRef> before;
  std::vector<EventRef> after;
};

/// Who depends on whom in a body, in both directions.
class DependencyIndex {
 public:
  explicit DependencyIndex(const FlatBody& body);

  /// Neighbours of the event that were traced, each by instruction id.
  [[nodiscard]] Neighbours of(const Timeline& timeline, const EventRef& ref) const;

 private:
  struct Dependent {
    std::uint32_t target = 0;  ///< who is waited for
    std::uint32_t waiter = 0;
    std::uint32_t distance = 0;
  };
  std::vector<Dependent> dependents_;  ///< by target
};

}  // namespace plimsoll::gui
