#include "core/plan/operator_graph.h"

namespace plimsoll {

Nanoseconds OperatorGraph::base_time() const {
  Nanoseconds sum;
  for (const Operator& one : operators) sum += one.time;
  return sum;
}

OperatorId add_operator(OperatorGraph& graph, const Operator& made, const std::vector<std::string>& names,
                        const std::vector<Bytes>& sizes, const std::vector<int>& views) {
  const OperatorId id(graph.operators.size());
  Operator one = made;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ValueId value(graph.values.size());
    const bool view = views[i] >= 0;
    const StorageId storage =
        view ? graph.at(one.inputs[static_cast<std::size_t>(views[i])]).storage : StorageId(graph.storages.size());
    if (!view) graph.storages.push_back({.size = sizes[i], .owner = value, .values = {}});
    if (!view) one.written += sizes[i];
    graph.storages[storage.index].values.push_back(value);
    graph.values.push_back({.name = names[i], .storage = storage, .maker = id, .view = view});
    one.outputs.push_back(value);
  }
  graph.operators.push_back(std::move(one));
  graph.events.push_back({OperatorEvent::Kind::kRun, id.index});
  return id;
}

}  // namespace plimsoll
