#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace plimsoll {

/// Something that will happen: when, and what it concerns.
struct PendingEvent {
  std::int64_t time = 0;  ///< nanoseconds
  std::uint64_t id = 0;

  /// Earlier first, ties by id. Written without a branch: in a heap the outcome is a coin toss.
  friend constexpr bool operator<(const PendingEvent& a, const PendingEvent& b) {
    return static_cast<bool>(static_cast<int>(a.time < b.time) |
                             (static_cast<int>(a.time == b.time) & static_cast<int>(a.id < b.id)));
  }
};
static_assert(sizeof(PendingEvent) == 16 && std::is_trivially_copyable_v<PendingEvent>);

/// The pending-event set: an implicit 4-ary heap, whose four children of a node lie side by side in memory.
class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  /// The earliest event, of equal times the one with the smallest id. The queue must not be empty.
  [[nodiscard]] const PendingEvent& top() const { return heap_.front(); }

  /// Time of the earliest event; the largest representable time when there is none.
  [[nodiscard]] std::int64_t next_time() const {
    return heap_.empty() ? std::numeric_limits<std::int64_t>::max() : heap_.front().time;
  }

  void reserve(std::size_t events) { heap_.reserve(events); }

  void push(PendingEvent event) {
    heap_.push_back(event);
    sift_up(heap_.size() - 1, event);
  }

  /// Removes and returns the earliest event. The queue must not be empty.
  PendingEvent pop() {
    const PendingEvent first = heap_.front();
    const PendingEvent last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) refill_top(last);
    return first;
  }

 private:
  static constexpr std::size_t kArity = 4;

  void sift_up(std::size_t hole, PendingEvent event) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kArity;
      if (!(event < heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  /// Moves the hole at the top down to a leaf along the smallest children, then lets `event` (which came from a leaf,
  /// so it nearly always stays low) rise from there: fewer comparisons than sifting it down.
  void refill_top(PendingEvent event) {
    PendingEvent* const heap = heap_.data();
    const std::size_t count = heap_.size();
    std::size_t hole = 0;
    std::size_t child = 1;
    while (child + kArity <= count) {
      const std::size_t left = child + static_cast<std::size_t>(heap[child + 1] < heap[child]);
      const std::size_t right = child + 2 + static_cast<std::size_t>(heap[child + 3] < heap[child + 2]);
      const std::size_t best = heap[right] < heap[left] ? right : left;
      heap[hole] = heap[best];
      hole = best;
      child = kArity * hole + 1;
    }
    if (child < count) {
      std::size_t best = child;
      for (std::size_t next = child + 1; next < count; ++next) best = heap[next] < heap[best] ? next : best;
      heap[hole] = heap[best];
      hole = best;
    }
    sift_up(hole, event);
  }

  std::vector<PendingEvent> heap_;
};

}  // namespace plimsoll
