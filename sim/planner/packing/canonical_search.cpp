#include "sim/planner/packing/canonical_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kNodesBetweenStops = 256;

}  // namespace

CanonicalSearch::CanonicalSearch(const PackingTask& task, const Coexistence& coexistence, Bytes capacity)
    : task_(task), together_(coexistence), capacity_(capacity.count), marked_in_(coexistence.crowds.size(), 0) {
  for (const TaskBuffer& buffer : task) size_.push_back(buffer.size.count);
}

void CanonicalSearch::reset() {
  const std::size_t count = task_.size();
  offset_.assign(count, 0);
  lowest_.assign(count, 0);
  barred_.assign(count, 0);
  placed_.assign(count, 0);
  free_neighbours_.resize(count);
  crowd_left_.assign(together_.crowds.size(), 0);
  crowd_highest_.assign(together_.crowds.size(), 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (task_[i].offset) lowest_[i] = task_[i].offset->count;
    free_neighbours_[i] = static_cast<std::uint32_t>(together_.neighbours[i].size());
    for (const std::uint32_t crowd : together_.crowds_of[i]) crowd_left_[crowd] += size_[i];
  }
  bound_ = lowest_;
  for (std::uint32_t i = 0; i < count; ++i) raise_crowds(i);
  trail_.clear();
  nodes_ = 0;
  gave_up_ = false;
}

CanonicalSearch::Outcome CanonicalSearch::run(std::span<const std::uint32_t> ranks, std::int64_t most_nodes,
                                              const std::function<bool()>& stop) {
  reset();
  rank_.assign(ranks.begin(), ranks.end());
  most_nodes_ = most_nodes;
  stop_ = &stop;
  Buffers all(task_.size());
  std::iota(all.begin(), all.end(), 0u);
  std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) { return task_[a].life.begin < task_[b].life.begin; });
  for (std::uint32_t crowd = 0; crowd < together_.crowds.size(); ++crowd) {
    if (!crowd_fits(crowd)) return Outcome::kImpossible;
  }
  for (const Buffers& part : independent_parts(all)) {
    if (!solve(part)) return gave_up_ ? Outcome::kGaveUp : Outcome::kImpossible;
  }
  return Outcome::kPacked;
}

/// `buffers` are sorted by the begin of their lives, as are the parts.
std::vector<CanonicalSearch::Buffers> CanonicalSearch::independent_parts(const Buffers& buffers) const {
  std::vector<Buffers> parts;
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const std::uint32_t buffer : buffers) {
    if (parts.empty() || task_[buffer].life.begin >= end) parts.emplace_back();
    parts.back().push_back(buffer);
    end = std::max(end, task_[buffer].life.end);
  }
  if (parts.size() > 1) {
    std::stable_sort(parts.begin(), parts.end(), [](const Buffers& a, const Buffers& b) { return a.size() < b.size(); });
  }
  return parts;
}

bool CanonicalSearch::exhausted() {
  ++nodes_;
  if (nodes_ > most_nodes_ || (nodes_ % kNodesBetweenStops == 0 && *stop_ && (*stop_)())) gave_up_ = true;
  return gave_up_;
}

/// The buffer to decide on; -1 when all are barred and so none can come first.
std::int64_t CanonicalSearch::next_of(const Buffers& part) const {
  std::int64_t next = -1;
  for (const std::uint32_t i : part) {
    if (barred_[i] != 0) continue;
    if (next < 0 || std::pair(lowest_[i], rank_[i]) < std::pair(lowest_[next], rank_[static_cast<std::size_t>(next)])) next = i;
  }
  return next;
}

bool CanonicalSearch::solve(const Buffers& part) {
  const std::size_t start = trail_.size();
  while (!exhausted()) {
    const std::int64_t next = next_of(part);
    if (next < 0) break;
    const auto buffer = static_cast<std::uint32_t>(next);
    const std::size_t before = trail_.size();
    const bool alone = free_neighbours_[buffer] == 0;
    if (place(buffer) && solve_rest(part, buffer)) return true;
    undo(before);
    const bool no_alternative = alone || task_[buffer].offset.has_value();
    if (gave_up_ || no_alternative || !bar(part, buffer)) break;
  }
  undo(start);
  return false;
}

bool CanonicalSearch::solve_rest(const Buffers& part, std::uint32_t placed) {
  Buffers rest;
  rest.reserve(part.size());
  std::copy_if(part.begin(), part.end(), std::back_inserter(rest), [&](std::uint32_t i) { return i != placed; });
  if (!conclude(rest, offset_[placed])) return false;
  const std::vector<Buffers> parts = independent_parts(rest);
  return std::all_of(parts.begin(), parts.end(), [&](const Buffers& one) { return solve(one); });
}

/// Puts the buffer at its lowest offset and pushes its neighbours above it; false when one no longer fits.
bool CanonicalSearch::place(std::uint32_t buffer) {
  ++decision_;
  marked_.clear();
  offset_[buffer] = lowest_[buffer];
  set(Field::kPlaced, buffer, 1);
  mark(buffer);
  const std::int64_t top = offset_[buffer] + size_[buffer];
  if (top > capacity_) return false;
  const auto& neighbours = together_.neighbours[buffer];
  return std::all_of(neighbours.begin(), neighbours.end(), [&](std::uint32_t other) { return push_up(other, top); });
}

bool CanonicalSearch::push_up(std::uint32_t buffer, std::int64_t floor) {
  if (placed_[buffer] != 0 || lowest_[buffer] >= floor) return true;
  if (task_[buffer].offset) return false;
  const std::int64_t lowest = aligned(buffer, floor);
  set(Field::kLowest, buffer, lowest);
  if (barred_[buffer] != 0) set(Field::kBarred, buffer, 0);
  if (bound_[buffer] != lowest) {
    set(Field::kBound, buffer, lowest);
    mark(buffer);
  }
  return lowest + size_[buffer] <= capacity_;
}

/// Bars the buffer, and all that are like it, from its lowest offset.
bool CanonicalSearch::bar(const Buffers& part, std::uint32_t buffer) {
  ++decision_;
  marked_.clear();
  const std::int64_t level = lowest_[buffer];
  for (const std::uint32_t i : part) {
    if (barred_[i] == 0 && lowest_[i] == level && alike(i, buffer)) set(Field::kBarred, i, 1);
  }
  return conclude(part, level);
}

/// Whether what is left can still fit, as far as the bounds tell; nothing comes to lie below `level` any more.
bool CanonicalSearch::conclude(const Buffers& part, std::int64_t level) {
  for (const std::uint32_t i : part) {
    if (barred_[i] != 0 && !support_barred(i, level)) return false;
  }
  return std::all_of(marked_.begin(), marked_.end(), [&](std::uint32_t crowd) { return crowd_fits(crowd); });
}

/// A barred buffer rests on a neighbour that is still to come. One that starts within the barred place must exist, or the
/// buffer could as well fall down into it.
bool CanonicalSearch::support_barred(std::uint32_t buffer, std::int64_t level) {
  std::int64_t support = kUnreachable;
  std::int64_t first = kUnreachable;
  for (const std::uint32_t other : together_.neighbours[buffer]) {
    if (placed_[other] != 0) continue;
    const std::int64_t from = std::max(bound_[other], level);
    first = std::min(first, from);
    support = std::min(support, from + size_[other]);
  }
  if (first >= lowest_[buffer] + size_[buffer]) return false;
  support = aligned(buffer, support);
  if (support > bound_[buffer]) {
    set(Field::kBound, buffer, support);
    mark(buffer);
  }
  return bound_[buffer] + size_[buffer] <= capacity_;
}

/// Jackson's bound: for every offset, what starts there or above needs its sizes above it.
bool CanonicalSearch::crowd_fits(std::uint32_t crowd) {
  if (crowd_left_[crowd] == 0) return true;
  if (crowd_highest_[crowd] + crowd_left_[crowd] <= capacity_) return true;  // even if all of them started there
  releases_.clear();
  std::int64_t highest = 0;
  crowd_highest_[crowd] = 0;
  for (const std::uint32_t i : together_.crowds[crowd]) {
    crowd_highest_[crowd] = std::max(crowd_highest_[crowd], bound_[i]);
    if (placed_[i] != 0) continue;
    releases_.emplace_back(bound_[i], size_[i]);
    highest = std::max(highest, bound_[i]);
  }
  if (highest + crowd_left_[crowd] <= capacity_) return true;
  std::sort(releases_.begin(), releases_.end());
  std::int64_t above = 0;
  for (std::size_t i = releases_.size(); i-- > 0;) {
    above += releases_[i].second;
    if (releases_[i].first + above > capacity_) return false;
  }
  return true;
}

void CanonicalSearch::set(Field field, std::uint32_t buffer, std::int64_t value) {
  switch (field) {
    case Field::kLowest:
      trail_.push_back({field, buffer, std::exchange(lowest_[buffer], value)});
      return;
    case Field::kBound:
      trail_.push_back({field, buffer, std::exchange(bound_[buffer], value)});
      return;
    case Field::kBarred:
      trail_.push_back({field, buffer, std::exchange(barred_[buffer], static_cast<char>(value))});
      return;
    case Field::kPlaced:
      trail_.push_back({field, buffer, std::exchange(placed_[buffer], static_cast<char>(value))});
      for (const std::uint32_t crowd : together_.crowds_of[buffer]) crowd_left_[crowd] -= size_[buffer];
      for (const std::uint32_t other : together_.neighbours[buffer]) --free_neighbours_[other];
      return;
  }
}

void CanonicalSearch::undo(std::size_t mark) {
  while (trail_.size() > mark) {
    const Change change = trail_.back();
    trail_.pop_back();
    if (change.field == Field::kLowest) lowest_[change.buffer] = change.before;
    if (change.field == Field::kBound && change.before > std::exchange(bound_[change.buffer], change.before)) {
      raise_crowds(change.buffer);  // who is pushed up is no longer barred, and may have been known to need more
    }
    if (change.field == Field::kBarred) barred_[change.buffer] = static_cast<char>(change.before);
    if (change.field != Field::kPlaced) continue;
    placed_[change.buffer] = 0;
    for (const std::uint32_t crowd : together_.crowds_of[change.buffer]) crowd_left_[crowd] += size_[change.buffer];
    for (const std::uint32_t other : together_.neighbours[change.buffer]) ++free_neighbours_[other];
  }
}

void CanonicalSearch::raise_crowds(std::uint32_t buffer) {
  for (const std::uint32_t crowd : together_.crowds_of[buffer]) {
    crowd_highest_[crowd] = std::max(crowd_highest_[crowd], bound_[buffer]);
  }
}

void CanonicalSearch::mark(std::uint32_t buffer) {
  raise_crowds(buffer);
  for (const std::uint32_t crowd : together_.crowds_of[buffer]) {
    if (std::exchange(marked_in_[crowd], decision_) != decision_) marked_.push_back(crowd);
  }
}

std::int64_t CanonicalSearch::aligned(std::uint32_t buffer, std::int64_t offset) const {
  const std::int64_t alignment = task_[buffer].alignment.count;
  return (offset + alignment - 1) / alignment * alignment;
}

bool CanonicalSearch::alike(std::uint32_t a, std::uint32_t b) const {
  const TaskBuffer &x = task_[a], &y = task_[b];
  return a == b || (size_[a] == size_[b] && x.life == y.life && x.alignment == y.alignment && x.gaps == y.gaps && !x.offset);
}

}  // namespace plimsoll
