#include "sim/planner/operators/evict_online.h"

#include <algorithm>

#include "sim/planner/operators/eviction_scores.h"

namespace plimsoll {
namespace {

/// Making an input again may need another one, and so on; deeper than this it is given up.
constexpr int kDeepest = 8000;

/// The runtime's state. Names follow the simulator of DTR where they are the same thing.
class Runtime {
 public:
  Runtime(const OperatorGraph& graph, const StorageLinks& links, Bytes budget, const EvictionRule& rule,
          const OnlineLimits& limits)
      : graph_(graph),
        scores_(graph, links, rule),
        rule_(rule),
        budget_(budget.count),
        most_time_(static_cast<double>(graph.base_time().count) * (1 + limits.most_again)),
        most_looks_(limits.most_looks),
        storages_(graph.storages.size()),
        defined_(graph.values.size(), 0) {}

  OnlineRun run() {
    bool done = true;
    for (const OperatorEvent& event : graph_.events) {
      if (event.kind == OperatorEvent::Kind::kRun) done = first_run(OperatorId(event.index));
      if (event.kind == OperatorEvent::Kind::kHold) ++of(ValueId(event.index)).external;
      if (event.kind == OperatorEvent::Kind::kRelease) release(ValueId(event.index));
      if (!done) return {std::nullopt, looks()};
    }
    for (const ValueId value : graph_.kept) {
      if (!keep(value)) return {std::nullopt, looks()};
    }
    return {std::move(runs_), looks()};
  }

 private:
  struct State {
    bool there = false, pinned = false;
    int locks = 0, external = 0;
    std::size_t pooled = kNotPooled;  ///< its place in the pool
    std::uint64_t since = 0;          ///< the order in which storages came to the pool
  };
  static constexpr std::size_t kNotPooled = ~std::size_t{0};

  [[nodiscard]] std::uint64_t looks() const { return looks_ + scores_.visits(); }
  State& at(StorageId id) { return storages_[id.index]; }
  State& of(ValueId value) { return at(graph_.at(value).storage); }

  bool first_run(OperatorId id) {
    const Operator& one = graph_.at(id);
    scores_.begin(id);
    for (const ValueId value : one.outputs) ++of(value).external;
    if (!materialize(one.outputs.front(), 0)) return false;
    for (const ValueId value : one.outputs) scores_.read(graph_.at(value).storage, clock_);
    return !one.constant || keep(one.outputs.front());
  }

  bool keep(ValueId value) {
    if (defined_[value.index] == 0 && !materialize(value, 0)) return false;
    if (of(value).pinned) return true;
    lock(graph_.at(value).storage);
    of(value).pinned = true;
    return true;
  }

  void release(ValueId value) {
    State& state = of(value);
    --state.external;
    if (rule_.eager && state.external == 0 && state.there && !state.pinned && state.locks == 0)
      evict(graph_.at(value).storage);
  }

  void pool_up(StorageId id) {
    at(id).pooled = pool_.size();
    at(id).since = ++pooled_;
    pool_.push_back(id);
  }

  void leave_pool(StorageId id) {
    const std::size_t place = at(id).pooled;
    at(pool_.back()).pooled = place;
    pool_[place] = pool_.back();
    pool_.pop_back();
    at(id).pooled = kNotPooled;
  }

  void lock(StorageId id) {
    if (at(id).locks++ == 0) leave_pool(id);
  }

  void unlock(StorageId id) {
    if (--at(id).locks == 0) pool_up(id);
  }

  void evict(StorageId id) {
    leave_pool(id);
    at(id).there = false;
    used_ -= graph_.at(id).size.count;
    for (const ValueId value : graph_.at(id).values) defined_[value.index] = 0;
    scores_.evicted(id);
  }

  /// The least score goes; of equal ones the one that came last to the pool, but of zeros the first.
  bool make_room(std::int64_t bytes) {
    while (used_ + bytes > budget_) {
      if (pool_.empty()) return false;
      StorageId least;
      double best = 0;
      looks_ += pool_.size();
      for (const StorageId id : pool_) {
        if (looks() > most_looks_) return false;
        const double score = scores_.score(id, clock_);
        const bool later = least.valid() && (at(id).since > at(least).since) != (score == 0);
        if (least.valid() && (score > best || (score == best && !later))) continue;
        least = id;
        best = score;
      }
      evict(least);
    }
    return true;
  }

  bool materialize(ValueId value, int depth) {
    if (depth > kDeepest) return false;
    const Operator& one = graph_.at(graph_.at(value).maker);
    for (const ValueId input : one.inputs) scores_.read(graph_.at(input).storage, clock_);
    std::vector<ValueId> missing;
    for (const ValueId input : one.inputs) {
      if (defined_[input.index] == 0)
        missing.push_back(input);
      else
        lock(graph_.at(input).storage);
    }
    for (const ValueId input : missing) {
      if (defined_[input.index] == 0 && !materialize(input, depth + 1)) return false;
      lock(graph_.at(input).storage);
    }
    if (!make_room(one.written.count)) return false;
    compute(one, value);
    for (const ValueId input : one.inputs) unlock(graph_.at(input).storage);
    return static_cast<double>(clock_.count) <= most_time_;
  }

  void compute(const Operator& one, ValueId asked) {
    runs_.push_back(graph_.at(asked).maker);
    clock_ += one.time;
    std::vector<StorageId> back;
    const auto define = [&](ValueId value) {
      const StorageId storage = graph_.at(value).storage;
      defined_[value.index] = 1;
      if (at(storage).there) return;
      at(storage).there = true;
      used_ += graph_.at(storage).size.count;
      back.push_back(storage);
    };
    for (const ValueId value : one.outputs) {
      if (value != asked) define(value);
    }
    define(asked);
    for (const StorageId storage : back) {
      if (at(storage).locks == 0) pool_up(storage);
      scores_.written(storage);
    }
  }

  const OperatorGraph& graph_;
  EvictionScores scores_;
  const EvictionRule& rule_;
  std::int64_t budget_, used_ = 0;
  double most_time_;
  std::uint64_t most_looks_;
  Nanoseconds clock_;
  std::vector<State> storages_;
  std::vector<char> defined_;  ///< by value
  std::vector<StorageId> pool_;
  std::uint64_t pooled_ = 0, looks_ = 0;
  OperatorRuns runs_;
};

}  // namespace

OnlineRun evict_online(const OperatorGraph& graph, const StorageLinks& links, Bytes budget, const EvictionRule& rule,
                       const OnlineLimits& limits) {
  return Runtime(graph, links, budget, rule, limits).run();
}

}  // namespace plimsoll
