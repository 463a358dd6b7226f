#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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
/// a few times as long: who lives meanwhile stands in that window's list, and few others. Times that 16 bits hold are
/// compared twice as many at once.
template <typename Moment>
class PlacedItemsOf {
 public:
  /// For lives that end at `end_of_time` or before, which Moment holds.
  explicit PlacedItemsOf(std::uint32_t end_of_time);

  /// Who says of every life beforehand that it will be asked about, once for each time, spares lists that nobody looks at any more.
  void expect(const Lifespan& life);

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

  struct Place {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  /// Lives apart from places, so that many lives are compared at once: nearly all that a look at a window does. Sorted
  /// when somebody looks: many come to a long window between two looks at it.
  struct Window {
    std::vector<Place> places;
    std::vector<Moment> from, to;   ///< of lives; empty ones behind the last, to a multiple of kAtOnce
    std::vector<PlacedItem> fresh;  ///< that are not among these yet
    std::uint32_t expected = 0;     ///< times that somebody will ask
  };

  /// Window k of a level is [k · half, (k + 2) · half).
  struct Level {
    std::uint32_t half;
    std::vector<Window> windows;
    std::size_t expected = 0;  ///< of all windows
  };

  /// A bit for each of the kAtOnce items from `first` on that lives together with `life`.
  static std::uint32_t beside_of(const Window& window, std::size_t first, const Lifespan& life) {
    const Moment* const from = window.from.data() + first;
    const Moment* const to = window.to.data() + first;
    const auto begin = static_cast<Moment>(life.begin), end = static_cast<Moment>(life.end);
#if defined(__SSE2__)
    if constexpr (sizeof(Moment) == 2) {
      const __m128i begins = _mm_set1_epi16(begin), ends = _mm_set1_epi16(end);
      const auto eight = [&](std::size_t at) {
        return _mm_and_si128(_mm_cmpgt_epi16(ends, loaded(from + at)), _mm_cmpgt_epi16(loaded(to + at), begins));
      };
      return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(eight(0), eight(8))));
    } else {
      const __m128i begins = _mm_set1_epi32(begin), ends = _mm_set1_epi32(end);
      const auto four = [&](std::size_t at) {
        return _mm_and_si128(_mm_cmpgt_epi32(ends, loaded(from + at)), _mm_cmpgt_epi32(loaded(to + at), begins));
      };
      const __m128i low = _mm_packs_epi32(four(0), four(4)), high = _mm_packs_epi32(four(8), four(12));
      return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    }
#else
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kAtOnce; ++i) bits |= static_cast<std::uint32_t>(from[i] < end && to[i] > begin) << i;
    return bits;
#endif
  }

#if defined(__SSE2__)
  static __m128i loaded(const Moment* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
#endif

  Level& level_of(const Lifespan& life);
  const Window& sorted_window(const Lifespan& life);
  static void sort_in(Window& window);

  std::vector<Level> levels_;
  bool knows_all_ = false;  ///< who will ask
};

using PlacedItems = PlacedItemsOf<std::int32_t>;
extern template class PlacedItemsOf<std::int16_t>;
extern template class PlacedItemsOf<std::int32_t>;

}  // namespace plimsoll
