#include "sim/planner/operators/operators_bound.h"

#include <algorithm>
#include <cmath>

#include "sim/planner/operators/storage_links.h"
#include "sim/planner/operators/weigh_runs.h"

namespace plimsoll {
namespace {

/// A bound at more moments costs more than it tells; those with most bytes come first.
constexpr std::size_t kMostMoments = 400;

/// What is there while each operator runs for the first time, and could not be elsewhere: what it reads and writes, and
/// constants.
std::vector<Bytes> pinned_bytes(const OperatorGraph& graph) {
  std::vector<Bytes> pinned;
  Bytes constants;
  for (const Operator& one : graph.operators) {
    Bytes bytes = constants + one.written;
    std::vector<StorageId> read;
    for (const ValueId value : one.inputs) {
      const StorageId storage = graph.at(value).storage;
      if (graph.at(graph.at(graph.at(storage).owner).maker).constant) continue;
      if (std::find(read.begin(), read.end(), storage) != read.end()) continue;
      read.push_back(storage);
      bytes += graph.at(storage).size;
    }
    pinned.push_back(bytes);
    if (one.constant) constants += one.written;
  }
  return pinned;
}

struct Item {
  double time, bytes;
};

/// Makers of what waits while `moment` runs, with their waiting bytes.
std::vector<Item> waiting_items(const OperatorGraph& graph, const StorageLinks& links, std::uint32_t moment) {
  std::vector<double> bytes(moment, 0);
  for (std::uint32_t s = 0; s < graph.storages.size(); ++s) {
    const OperatorStorage& storage = graph.storages[s];
    const OperatorId maker = graph.at(storage.owner).maker;
    const auto& readers = links.readers[s];
    if (maker.index >= moment || graph.at(maker).constant || readers.empty() || readers.back() <= moment) continue;
    if (std::binary_search(readers.begin(), readers.end(), moment)) continue;
    bytes[maker.index] += static_cast<double>(storage.size.count);
  }
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < moment; ++i) {
    if (bytes[i] > 0) items.push_back({static_cast<double>(graph.operators[i].time.count), bytes[i]});
  }
  return items;
}

/// The least time of items, or parts of them, that have so many bytes.
double least_time(std::vector<Item> items, double missing) {
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.time / a.bytes < b.time / b.bytes; });
  double time = 0;
  for (const Item& item : items) {
    if (missing <= 0) break;
    time += item.time * std::min(1.0, missing / item.bytes);
    missing -= item.bytes;
  }
  return time;
}

}  // namespace

Bytes least_operator_bytes(const OperatorGraph& graph) {
  const std::vector<Bytes> pinned = pinned_bytes(graph);
  Bytes kept;
  std::vector<char> counted(graph.storages.size(), 0);
  const auto count = [&](ValueId value) {
    const StorageId storage = graph.at(value).storage;
    if (counted[storage.index] == 0) kept += graph.at(storage).size;
    counted[storage.index] = 1;
  };
  for (const ValueId value : graph.kept) count(value);
  for (const Operator& one : graph.operators) {
    if (one.constant) count(one.outputs.front());
  }
  return std::max(kept, *std::max_element(pinned.begin(), pinned.end()));
}

std::optional<Nanoseconds> operators_bound(const OperatorGraph& graph, Bytes budget) {
  if (budget < least_operator_bytes(graph)) return std::nullopt;
  OperatorRuns once;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) once.emplace_back(i);
  const std::vector<std::int64_t> held = weigh_runs(graph, once).held;
  std::vector<std::uint32_t> moments;
  for (std::uint32_t i = 0; i < held.size(); ++i) {
    if (held[i] > budget.count) moments.push_back(i);
  }
  std::stable_sort(moments.begin(), moments.end(), [&](std::uint32_t a, std::uint32_t b) { return held[a] > held[b]; });
  if (moments.size() > kMostMoments) moments.resize(kMostMoments);
  const StorageLinks links(graph);
  const std::vector<Bytes> pinned = pinned_bytes(graph);
  double again = 0;
  for (const std::uint32_t moment : moments) {
    const std::vector<Item> items = waiting_items(graph, links, moment);
    double waiting = 0;
    for (const Item& item : items) waiting += item.bytes;
    again = std::max(again, least_time(items, waiting + static_cast<double>((pinned[moment] - budget).count)));
  }
  return graph.base_time() + Nanoseconds(static_cast<std::int64_t>(std::floor(again * (1 - 1e-12))));
}

}  // namespace plimsoll
