#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
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
  /// For lives that end at `end_of_time` or before, which stays below 2^31.
  explicit PlacedItems(std::uint32_t end_of_time);

  void add(const PlacedItem& item);

  /// Calls `visit(begin, end)` with the place of each item that lives together with `life`, by offset, until it says
  /// false.
  template <typename Visit>
  void for_each_beside(const Lifespan& life, Visit&& visit) {
    const Window& window = sorted_window(life);
    const std::size_t count = window.places.size();
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      for (std::uint32_t beside = beside_of(window, first, life); beside != 0; beside &= beside - 1) {
        const std::size_t i = first + static_cast<std::size_t>(std::countr_zero(beside));
        if (!visit(window.places[i].begin, window.places[i].end)) return;
      }
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 16;
  static constexpr std::size_t kLanes = 4;
  using Lanes = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

  struct Place {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  /// Lives apart from places, so that many lives are compared at once: nearly all that a look at a window does. Sorted
  /// when somebody looks: many come to a long window between two looks at it.
  struct Window {
    std::vector<Place> places;
    std::vector<std::int32_t> from, to;  ///< of lives; empty ones behind the last, to a multiple of kAtOnce
    std::vector<PlacedItem> fresh;       ///< that are not among these yet
  };

  /// Window k of a level is [k · half, (k + 2) · half).
  struct Level {
    std::uint32_t half;
    std::vector<Window> windows;
  };

  /// A bit for each of the kAtOnce items from `first` on that lives together with `life`.
  static std::uint32_t beside_of(const Window& window, std::size_t first, const Lifespan& life) {
    const auto begin = static_cast<std::int32_t>(life.begin), end = static_cast<std::int32_t>(life.end);
    Lanes bits{1, 2, 4, 8}, found{};
    for (std::size_t part = 0; part < kAtOnce; part += kLanes, bits <<= kLanes) {
      Lanes from, to;
      std::memcpy(&from, window.from.data() + first + part, sizeof from);
      std::memcpy(&to, window.to.data() + first + part, sizeof to);
      found |= (from < end) & (to > begin) & bits;
    }
    return static_cast<std::uint32_t>(found[0] | found[1] | found[2] | found[3]);
  }

  const Window& sorted_window(const Lifespan& life);
  static void sort_in(Window& window);

  std::vector<Level> levels_;
};

}  // namespace plimsoll
