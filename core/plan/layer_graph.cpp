#include "core/plan/layer_graph.h"

#include <fmt/format.h>

#include <functional>
#include <queue>

namespace plimsoll {

Result<std::vector<LayerId>> topological_order(const LayerGraph& graph) {
  std::vector<std::size_t> waits(graph.layers.size());
  std::vector<std::vector<LayerId>> readers(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) {
    ++waits[edge.to.index];
    readers[edge.from.index].push_back(edge.to);
  }
  std::priority_queue<LayerId, std::vector<LayerId>, std::greater<>> ready;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) ready.push(LayerId(i));
  }
  std::vector<LayerId> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const LayerId reader : readers[order.back().index]) {
      if (--waits[reader.index] == 0) ready.push(reader);
    }
  }
  if (order.size() == graph.layers.size()) return order;
  std::size_t in_circle = 0;
  while (waits[in_circle] == 0) ++in_circle;
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("layer '{}' reads, over others, what it writes itself", graph.layers[in_circle].name),
               .where = {},
               .remedy = "remove an edge of the circle"});
}

}  // namespace plimsoll
