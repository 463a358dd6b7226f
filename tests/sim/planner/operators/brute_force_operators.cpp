#include "tests/sim/planner/operators/brute_force_operators.h"

#include <map>
#include <queue>
#include <utility>

namespace plimsoll::test {
namespace {

/// Operators that have run for the first time, and storages that are there.
using State = std::pair<std::uint32_t, std::uint32_t>;

std::uint32_t bit(StorageId storage) { return std::uint32_t{1} << storage.index; }

std::int64_t bytes_of(const OperatorGraph& graph, std::uint32_t there) {
  std::int64_t bytes = 0;
  for (std::uint32_t s = 0; s < graph.storages.size(); ++s)
    bytes += (there & bit(StorageId(s))) != 0 ? graph.storages[s].size.count : 0;
  return bytes;
}

bool all_there(const OperatorGraph& graph, const std::vector<ValueId>& values, std::uint32_t there) {
  for (const ValueId value : values) {
    if ((there & bit(graph.at(value).storage)) == 0) return false;
  }
  return true;
}

}  // namespace

std::optional<Nanoseconds> brute_force_operators(const OperatorGraph& graph, Bytes budget) {
  std::map<State, std::int64_t> least;
  using Entry = std::pair<std::int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto reach = [&](State state, std::int64_t time) {
    const auto [found, is_new] = least.try_emplace(state, time);
    if (!is_new && found->second <= time) return;
    found->second = time;
    open.push({time, state});
  };
  reach({0, 0}, 0);
  while (!open.empty()) {
    const auto [time, state] = open.top();
    open.pop();
    const auto [first, there] = state;
    if (least.at(state) < time) continue;
    if (first == graph.operators.size() && all_there(graph, graph.kept, there)) return Nanoseconds(time);
    for (std::uint32_t i = 0; i <= first && i < graph.operators.size(); ++i) {
      const Operator& one = graph.operators[i];
      if ((one.constant && i < first) || !all_there(graph, one.inputs, there)) continue;
      if (bytes_of(graph, there) + one.written.count > budget.count) continue;
      std::uint32_t after = there;
      for (const ValueId value : one.outputs) after |= bit(graph.at(value).storage);
      reach({std::max(first, i + 1), after}, time + one.time.count);
    }
    for (std::uint32_t s = 0; s < graph.storages.size(); ++s) {
      const bool constant = graph.at(graph.at(graph.storages[s].owner).maker).constant;
      if ((there & bit(StorageId(s))) != 0 && !constant) reach({first, there & ~bit(StorageId(s))}, time);
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::test
