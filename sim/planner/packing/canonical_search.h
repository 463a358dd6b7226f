#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/planner/packing/coexistence.h"

namespace plimsoll {

/// Looks for offsets below a capacity by placing buffers from the bottom up, each at the lowest offset that what lies below
/// leaves it (every packing can be pushed down into one that is found so), and backtracking. At each step the buffer that can
/// lie lowest is either placed there or barred from that offset, in which case another one must come to lie between. Three
/// conclusions cut the search: in every crowd, the lowest possible offsets of what is not placed yet and the sizes above them
/// must stay within the capacity (the one-machine bound of Jackson); a barred buffer needs a support of which its offset is
/// a consequence; and parts of time that nothing spans any more are solved apart.
/// Canonical placement and decomposition: Moffitt, MiniMalloc, ASPLOS 2023.
class CanonicalSearch {
 public:
  enum class Outcome : std::uint8_t { kPacked, kImpossible, kGaveUp };

  /// `task` and `coexistence` must outlive it.
  CanonicalSearch(const PackingTask& task, const Coexistence& coexistence, Bytes capacity);

  /// Searches with buffers of equal lowest offset in the order of `ranks` (by buffer: smaller comes first); gives up after
  /// `most_nodes` decisions or when `stop` (asked now and then) says so.
  Outcome run(std::span<const std::uint32_t> ranks, std::int64_t most_nodes, const std::function<bool()>& stop);

  /// After kPacked: where each buffer lies.
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offset_; }

 private:
  using Buffers = std::vector<std::uint32_t>;
  enum class Field : std::uint8_t { kLowest, kBound, kBarred, kPlaced };
  struct Change {
    Field field;
    std::uint32_t buffer;
    std::int64_t before;
  };

  void reset();
  bool solve(const Buffers& part);
  bool solve_rest(const Buffers& part, std::uint32_t placed);
  std::vector<Buffers> independent_parts(const Buffers& buffers) const;
  [[nodiscard]] bool exhausted();
  [[nodiscard]] std::int64_t next_of(const Buffers& part) const;
  bool place(std::uint32_t buffer);
  bool push_up(std::uint32_t buffer, std::int64_t floor);
  bool bar(const Buffers& part, std::uint32_t buffer);
  bool conclude(const Buffers& part, std::int64_t level);
  bool support_barred(std::uint32_t buffer, std::int64_t level);
  bool crowd_fits(std::uint32_t crowd);
  void set(Field field, std::uint32_t buffer, std::int64_t value);
  void mark(std::uint32_t buffer);
  void raise_crowds(std::uint32_t buffer);
  void undo(std::size_t mark);
  [[nodiscard]] std::int64_t aligned(std::uint32_t buffer, std::int64_t offset) const;
  [[nodiscard]] bool alike(std::uint32_t a, std::uint32_t b) const;

  const PackingTask& task_;
  const Coexistence& together_;
  std::int64_t capacity_;
  std::vector<std::int64_t> size_, offset_;
  std::vector<std::int64_t> lowest_;  ///< above all placed neighbours
  std::vector<std::int64_t> bound_;   ///< at least `lowest_`; what a barred buffer is known to need
  std::vector<char> barred_, placed_;
  std::vector<std::uint32_t> free_neighbours_;  ///< neighbours that are not placed
  std::vector<std::int64_t> crowd_left_;        ///< sizes in the crowd that are not placed
  std::vector<std::int64_t> crowd_highest_;     ///< no bound in the crowd is higher, placed or not
  std::vector<std::uint32_t> rank_;
  std::vector<Change> trail_;
  std::vector<std::uint32_t> marked_;  ///< crowds whose bound may have changed
  std::vector<std::uint64_t> marked_in_;
  std::uint64_t decision_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> releases_;
  std::int64_t nodes_ = 0, most_nodes_ = 0;
  bool gave_up_ = false;
  const std::function<bool()>* stop_ = nullptr;
};

}  // namespace plimsoll
