#pragma once

#include <cstdint>
#include <vector>

#include "sim/planner/pack_arena.h"

namespace plimsoll {

/// An item that has its place in an arena.
struct PlacedItem {
  std::int64_t begin;
  std::int64_t end;
  Lifespan life;
};

/// The items placed so far, found by the time in which they live, from the lowest offset to the highest (ties: as they
/// came). Time is cut into overlapping windows of several lengths, so that every life lies in one window that is at most
/// a few times as long: who lives meanwhile stands in that window's list, and few others.
class PlacedItems {
 public:
  /// For lives that end at `end_of_time` or before.
  explicit PlacedItems(std::uint32_t end_of_time);

  void add(const PlacedItem& item);
  /// All that may live together with `life`, by offset; others may stand among them.
  const std::vector<PlacedItem>& around(const Lifespan& life);

 private:
  /// Sorted when somebody looks: many come to a long window between two looks at it.
  struct Window {
    std::vector<PlacedItem> items;
    std::size_t sorted = 0;  ///< how many of the first are in order
  };

  /// Window k of a level is [k · half, (k + 2) · half).
  struct Level {
    std::uint32_t half;
    std::vector<Window> windows;
  };

  static void sort(Window& window);

  std::vector<Level> levels_;
};

}  // namespace plimsoll
