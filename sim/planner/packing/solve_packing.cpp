#include "sim/planner/packing/solve_packing.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

#include "sim/planner/packing/canonical_search.h"
#include "sim/planner/packing/verify_task_packing.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// The exact search keeps pairs of neighbours; tasks with more of them are packed greedily only.
constexpr std::int64_t kMostNeighbours = 40'000'000;
/// The lowest packing tries this many orders at each capacity first, then so many times as many.
constexpr std::int64_t kFirstAttempts = 48;
constexpr std::int64_t kMoreAttempts = 8;
/// By duration, by load and area, by area, by load and size.
constexpr std::int64_t kOrders = 4;
/// Disturbed orders multiply their keys by up to exp of this.
constexpr double kDisturbance = 0.2;

std::int64_t count_neighbours(const PackingTask& task) {
  std::vector<std::int64_t> begins, ends;
  for (const TaskBuffer& buffer : task) {
    begins.push_back(buffer.life.begin);
    ends.push_back(buffer.life.end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::int64_t pairs = 0;
  for (std::size_t started = 0, ended = 0; started < begins.size(); ++started) {
    while (ends[ended] <= begins[started]) ++ended;
    pairs += 2 * static_cast<std::int64_t>(started - ended);
  }
  return pairs;
}

/// Tries orders on several threads until one succeeds, one proves that none can, or all were tried.
class Portfolio {
 public:
  Portfolio(const PackingTask& task, Bytes capacity, const PackingLimits& limits)
      : task_(task), together_(task), capacity_(capacity), limits_(limits), load_(task.size(), 0), solved_(limits.attempts) {
    for (const auto& crowd : together_.crowds) {
      std::int64_t load = 0;
      for (const std::uint32_t i : crowd) load += task[i].size.count;
      for (const std::uint32_t i : crowd) load_[i] = std::max(load_[i], load);
    }
  }

  PackingAnswer run() {
    const unsigned threads = limits_.threads > 0 ? limits_.threads : std::max(1u, std::thread::hardware_concurrency());
    parallel_for(threads, [this](std::size_t) { work(); }, threads);
    if (impossible_) return {PackingVerdict::kImpossible, {}};
    return solved_ < limits_.attempts ? PackingAnswer{PackingVerdict::kPacked, std::move(found_)} : PackingAnswer{};
  }

 private:
  void work() {
    CanonicalSearch search(task_, together_, capacity_);
    for (std::int64_t attempt = next_++; attempt < solved_ && !impossible_; attempt = next_++) {
      const auto stop = [&] { return impossible_ || solved_ < attempt || (limits_.stop && limits_.stop()); };
      const auto round = static_cast<std::uint64_t>(attempt / kOrders + 1);
      const std::int64_t nodes = static_cast<std::int64_t>(2 * task_.size()) << std::countr_zero(round);
      const auto outcome = search.run(ranks(attempt, !std::has_single_bit(round)), nodes, stop);
      if (outcome == CanonicalSearch::Outcome::kImpossible) impossible_ = true;
      if (outcome == CanonicalSearch::Outcome::kPacked) take(attempt, search.offsets());
      if (limits_.stop && limits_.stop()) return;
    }
  }

  void take(std::int64_t attempt, const std::vector<std::int64_t>& offsets) {
    const std::lock_guard lock(mutex_);
    if (attempt >= solved_) return;
    solved_ = attempt;
    found_ = {};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      found_.offsets.emplace_back(offsets[i]);
      found_.height = std::max(found_.height, found_.offsets[i] + task_[i].size);
    }
  }

  /// Long, crowded or large buffers first, by the attempt's number.
  [[nodiscard]] std::vector<std::uint32_t> ranks(std::int64_t attempt, bool disturbed) const {
    std::mt19937_64 random(static_cast<std::uint64_t>(attempt));
    const auto noise = [&] {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      return disturbed ? std::exp(kDisturbance * unit) : 1.0;
    };
    std::vector<std::pair<std::pair<double, double>, std::uint32_t>> keyed;
    for (std::uint32_t i = 0; i < task_.size(); ++i) {
      const double duration = static_cast<double>(task_[i].life.end) - static_cast<double>(task_[i].life.begin);
      const double area = duration * static_cast<double>(task_[i].size.count);
      const double hint = task_[i].hint ? static_cast<double>(-task_[i].hint->count) : 0.0;
      const auto load = static_cast<double>(load_[i]), size = static_cast<double>(task_[i].size.count);
      if (attempt % kOrders == 0) keyed.push_back({{duration * noise(), hint}, i});
      if (attempt % kOrders == 1) keyed.push_back({{load, area * noise()}, i});
      if (attempt % kOrders == 2) keyed.push_back({{area * noise(), hint}, i});
      if (attempt % kOrders == 3) keyed.push_back({{load, size * noise()}, i});
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::uint32_t> ranks(task_.size());
    for (std::uint32_t rank = 0; rank < keyed.size(); ++rank) ranks[keyed[rank].second] = rank;
    return ranks;
  }

  const PackingTask& task_;
  Coexistence together_;
  Bytes capacity_;
  const PackingLimits& limits_;
  std::vector<std::int64_t> load_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::int64_t> solved_;  ///< the first attempt that succeeded; `attempts` when none has
  std::atomic<bool> impossible_{false};
  std::mutex mutex_;
  TaskPacking found_;
};

/// Greedy packings may put something on a fixed buffer's bytes only when fixed buffers collide themselves.
bool usable(const PackingTask& task, const TaskPacking& packing, Bytes capacity) {
  return packing.height <= capacity && verify_task_packing(task, packing).has_value();
}

bool searchable(const PackingTask& task) { return count_neighbours(task) <= kMostNeighbours; }

/// Lowers `best` towards `floor` by halving, with so many attempts at each capacity; returns below what nothing is possible.
Bytes lower(const PackingTask& task, PackingAnswer& best, Bytes floor, const PackingLimits& limits) {
  Bytes proven = floor;
  while (best.packing.height > floor && !(limits.stop && limits.stop())) {
    const Bytes wanted(floor.count + (best.packing.height.count - 1 - floor.count) / 2);
    PackingAnswer answer = Portfolio(task, wanted, limits).run();
    if (answer.verdict == PackingVerdict::kPacked) {
      best = std::move(answer);
      continue;
    }
    floor = wanted + Bytes(1);
    if (answer.verdict == PackingVerdict::kImpossible) proven = floor;
  }
  return proven;
}

}  // namespace

PackingAnswer fit_packing(const PackingTask& task, Bytes capacity, const PackingLimits& limits) {
  if (peak_load(task) > capacity) return {PackingVerdict::kImpossible, {}};
  TaskPacking greedy = climb_packing(task, capacity, 0, limits.stop);
  if (usable(task, greedy, capacity)) return {PackingVerdict::kPacked, std::move(greedy)};
  PackingAnswer answer = searchable(task) ? Portfolio(task, capacity, limits).run() : PackingAnswer{};
  if (answer.verdict != PackingVerdict::kUndecided) return answer;
  greedy = climb_packing(task, capacity, limits.climbs, limits.stop);
  return usable(task, greedy, capacity) ? PackingAnswer{PackingVerdict::kPacked, std::move(greedy)} : answer;
}

PackingAnswer lowest_packing(const PackingTask& task, const PackingLimits& limits) {
  Bytes floor = peak_load(task);
  const bool exact = searchable(task);
  PackingAnswer best{PackingVerdict::kPacked, climb_packing(task, floor, exact ? 0 : limits.climbs, limits.stop)};
  if (!usable(task, best.packing, best.packing.height)) return {PackingVerdict::kImpossible, {}};
  if (!exact) return best;
  // A capacity that is just too small may cost any number of attempts, so all get a few before any gets many.
  for (std::int64_t attempts = kFirstAttempts;; attempts *= kMoreAttempts) {
    PackingLimits round = limits;
    round.attempts = std::min(attempts, limits.attempts);
    floor = lower(task, best, floor, round);
    const bool tried_all = attempts >= limits.attempts || (limits.stop && limits.stop());
    if (best.packing.height <= floor || tried_all) return best;
  }
}

}  // namespace plimsoll
