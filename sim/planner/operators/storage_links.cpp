#include "sim/planner/operators/storage_links.h"

#include <algorithm>

namespace plimsoll {

StorageLinks::StorageLinks(const OperatorGraph& graph)
    : parents(graph.storages.size()), children(graph.storages.size()), readers(graph.storages.size()) {
  Nanoseconds clock;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& one = graph.operators[i];
    begin.push_back(clock);
    clock += one.time;
    std::vector<StorageId> read, written;
    for (const ValueId value : one.inputs) read.push_back(graph.at(value).storage);
    for (const ValueId value : one.outputs) written.push_back(graph.at(value).storage);
    for (std::vector<StorageId>* list : {&read, &written}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    for (const StorageId from : read) {
      readers[from.index].push_back(static_cast<std::uint32_t>(i));
      for (const StorageId to : written) {
        if (from == to) continue;
        parents[to.index].push_back({from, OperatorId(i)});
        children[from.index].push_back({to, OperatorId(i)});
      }
    }
  }
  for (const ValueId value : graph.kept) readers[graph.at(value).storage.index].push_back(kEnd);
}

}  // namespace plimsoll
