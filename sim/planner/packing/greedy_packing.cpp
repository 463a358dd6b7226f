#include "sim/planner/packing/greedy_packing.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "sim/planner/placed_items.h"

namespace plimsoll {
namespace {

/// Lives counted in the order of their ends instead of in the task's units.
std::vector<Lifespan> ranked_lives(const PackingTask& task) {
  std::vector<std::int64_t> moments;
  for (const TaskBuffer& buffer : task) moments.insert(moments.end(), {buffer.life.begin, buffer.life.end});
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  const auto rank = [&](std::int64_t at) {
    return static_cast<std::uint32_t>(std::lower_bound(moments.begin(), moments.end(), at) - moments.begin());
  };
  std::vector<Lifespan> lives;
  for (const TaskBuffer& buffer : task) lives.push_back({rank(buffer.life.begin), rank(buffer.life.end)});
  return lives;
}

std::int64_t lowest_gap(PlacedItems& placed, const TaskBuffer& buffer, const Lifespan& life) {
  const std::int64_t alignment = buffer.alignment.count;
  std::int64_t floor = 0;
  placed.for_each_beside(life, [&](std::int64_t begin, std::int64_t end) {
    if (begin - floor >= buffer.size.count) return false;
    floor = std::max(floor, (end + alignment - 1) / alignment * alignment);
    return true;
  });
  return floor;
}

/// First fit over lives that were ranked once.
class FirstFit {
 public:
  explicit FirstFit(const PackingTask& task) : task_(task), lives_(ranked_lives(task)) {
    for (const Lifespan& life : lives_) end_of_time_ = std::max(end_of_time_, life.end);
  }

  [[nodiscard]] TaskPacking pack(const PackingOrder& order) const {
    TaskPacking packing{.offsets = std::vector<Bytes>(task_.size()), .height = Bytes(0)};
    PlacedItems placed(end_of_time_);
    for (const bool fixed : {true, false}) {
      for (const std::uint32_t i : order) {
        const TaskBuffer& buffer = task_[i];
        if (buffer.offset.has_value() != fixed) continue;
        const std::int64_t begin = fixed ? buffer.offset->count : lowest_gap(placed, buffer, lives_[i]);
        const std::int64_t end = begin + buffer.size.count;
        placed.add({begin, end, lives_[i]});
        packing.offsets[i] = Bytes(begin);
        packing.height = std::max(packing.height, Bytes(end));
      }
    }
    return packing;
  }

 private:
  const PackingTask& task_;
  std::vector<Lifespan> lives_;
  std::uint32_t end_of_time_ = 0;
};

template <typename Key>
PackingOrder sorted_by(const PackingTask& task, Key key) {
  PackingOrder order(task.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(task[a]) > key(task[b]); });
  return order;
}

std::vector<PackingOrder> usual_orders(const PackingTask& task) {
  const auto duration = [](const TaskBuffer& b) { return static_cast<double>(b.life.end) - static_cast<double>(b.life.begin); };
  const auto size = [](const TaskBuffer& b) { return static_cast<double>(b.size.count); };
  return {sorted_by(task, [&](const TaskBuffer& b) { return std::tuple(size(b), duration(b)); }),
          sorted_by(task, [&](const TaskBuffer& b) { return std::tuple(size(b) * duration(b), 0.0); }),
          sorted_by(task, [&](const TaskBuffer& b) { return std::tuple(duration(b), size(b)); }),
          sorted_by(task, [&](const TaskBuffer& b) { return std::tuple(-static_cast<double>(b.life.begin), size(b)); })};
}

/// Moves what reaches above `line` to a random place in the part of the order before it.
PackingOrder with_tops_earlier(const PackingTask& task, const TaskPacking& packing, const PackingOrder& order, Bytes line,
                               std::mt19937_64& random) {
  std::vector<std::pair<double, std::uint32_t>> keyed;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::uint32_t i = order[place];
    const bool top = packing.offsets[i] + task[i].size > line;
    const double earlier = static_cast<double>(random() >> 11) * 0x1p-53;
    keyed.emplace_back(static_cast<double>(place) * (top ? earlier : 1.0), i);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  PackingOrder moved;
  for (const auto& entry : keyed) moved.push_back(entry.second);
  return moved;
}

}  // namespace

TaskPacking pack_first_fit(const PackingTask& task, const PackingOrder& order) { return FirstFit(task).pack(order); }

TaskPacking climb_packing(const PackingTask& task, Bytes target, std::int64_t most_attempts, const std::function<bool()>& stop) {
  const FirstFit fit(task);
  TaskPacking best;
  PackingOrder best_order;
  const auto take = [&](const PackingOrder& order) {
    TaskPacking packing = fit.pack(order);
    if (!best_order.empty() && packing.height > best.height) return;
    best = std::move(packing);
    best_order = order;
  };
  for (const PackingOrder& order : usual_orders(task)) {
    take(order);
    if (best.height <= target || (stop && stop())) return best;
  }
  std::mt19937_64 random(0);
  for (std::int64_t attempt = 0; attempt < most_attempts && best.height > target && !(stop && stop()); ++attempt) {
    const std::int64_t above = best.height.count - target.count;
    const Bytes line(target.count + above / 4 * (attempt % 4));
    take(with_tops_earlier(task, best, best_order, line, random));
  }
  return best;
}

}  // namespace plimsoll
