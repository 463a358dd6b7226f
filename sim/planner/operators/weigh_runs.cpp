#include "sim/planner/operators/weigh_runs.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// What later runs need, seen from a place between two runs.
class Needs {
 public:
  explicit Needs(const OperatorGraph& graph)
      : graph_(graph), needed_(graph.values.size(), 0), values_(graph.storages.size(), 0) {
    for (const ValueId value : graph.kept) add(value);
    for (const Operator& one : graph.operators) {
      if (one.constant) add(one.outputs.front());
    }
  }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool any(const Operator& one) const {
    return std::any_of(one.outputs.begin(), one.outputs.end(),
                       [&](ValueId value) { return needed_[value.index] != 0; });
  }
  [[nodiscard]] bool any(StorageId storage) const { return values_[storage.index] > 0; }
  void add(ValueId value) {
    if (needed_[value.index] != 0) return;
    needed_[value.index] = 1;
    const StorageId storage = graph_.at(value).storage;
    if (values_[storage.index]++ == 0) bytes_ += graph_.at(storage).size.count;
  }
  /// What `one` writes is not needed before it; but a storage of which an older view is still needed stays as it was.
  void write(const Operator& one) {
    for (const ValueId value : one.outputs) {
      const StorageId storage = graph_.at(value).storage;
      const bool stays = !graph_.at(value).view && values_[storage.index] > (needed_[value.index] != 0 ? 1u : 0u);
      if (needed_[value.index] != 0 && !stays) remove(value);
    }
  }

 private:
  void remove(ValueId value) {
    needed_[value.index] = 0;
    const StorageId storage = graph_.at(value).storage;
    if (--values_[storage.index] == 0) bytes_ -= graph_.at(storage).size.count;
  }

  const OperatorGraph& graph_;
  std::vector<char> needed_;           ///< by value
  std::vector<std::uint32_t> values_;  ///< needed ones, by storage
  std::int64_t bytes_ = 0;
};

}  // namespace

RunsWeight weigh_runs(const OperatorGraph& graph, const OperatorRuns& runs) {
  RunsWeight weight{.time = {},
                    .peak = {},
                    .held = std::vector<std::int64_t>(runs.size(), 0),
                    .useless = std::vector<char>(runs.size(), 0)};
  std::vector<std::uint32_t> times(graph.operators.size(), 0);
  for (const OperatorId id : runs) {
    if (id.valid()) ++times[id.index];
  }
  Needs needs(graph);
  for (std::size_t i = runs.size(); i-- > 0;) {
    const bool again = runs[i].valid() && times[runs[i].index]-- > 1;
    if (!runs[i].valid() || (again && !needs.any(graph.at(runs[i])))) {
      weight.useless[i] = 1;
      weight.held[i] = needs.bytes();
      continue;
    }
    const Operator& one = graph.at(runs[i]);
    needs.write(one);
    for (const ValueId value : one.inputs) needs.add(value);
    weight.held[i] = needs.bytes() + one.written.count;
    weight.peak = std::max(weight.peak, Bytes(weight.held[i]));
    weight.time += one.time;
  }
  return weight;
}

OperatorRuns without_useless(const OperatorRuns& runs, const RunsWeight& weight) {
  OperatorRuns useful;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (weight.useless[i] == 0) useful.push_back(runs[i]);
  }
  return useful;
}

OperatorSchedule with_frees(const OperatorGraph& graph, const OperatorRuns& runs) {
  OperatorSchedule backward;
  Needs needs(graph);
  for (std::size_t i = runs.size(); i-- > 0;) {
    const Operator& one = graph.at(runs[i]);
    std::vector<StorageId> touched;
    for (const auto* values : {&one.inputs, &one.outputs}) {
      for (const ValueId value : *values) {
        const StorageId storage = graph.at(value).storage;
        if (needs.any(storage) || std::find(touched.begin(), touched.end(), storage) != touched.end()) continue;
        touched.push_back(storage);
        backward.push_back({OperatorStep::Kind::kFree, storage.index});
      }
    }
    backward.push_back({OperatorStep::Kind::kRun, runs[i].index});
    needs.write(one);
    for (const ValueId value : one.inputs) needs.add(value);
  }
  std::reverse(backward.begin(), backward.end());
  return backward;
}

}  // namespace plimsoll
