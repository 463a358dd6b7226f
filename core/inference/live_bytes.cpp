#include "core/inference/live_bytes.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

struct Span {
  std::size_t first = 0;
  std::size_t last = 0;
  bool used = false;
};

bool is_made_by_pass(const Tensor& tensor) {
  return tensor.kind == TensorKind::kActivation || tensor.kind == TensorKind::kWorkspace;
}

/// The tensor that holds the bytes of `id`.
std::size_t holder(const Graph& graph, TensorId id) {
  while (graph.at(id).view_of.valid()) id = graph.at(id).view_of;
  return id.index;
}

std::vector<Span> spans_of(const Graph& graph) {
  std::vector<Span> spans(graph.tensors.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (const Operand& operand : graph.ops[i].operands) {
      if (!operand.tensor.valid()) continue;
      Span& span = spans[holder(graph, operand.tensor)];
      if (!span.used) span = {i, i, true};
      span.last = i;
    }
  }
  return spans;
}

}  // namespace

Bytes peak_live_bytes(const Graph& graph) {
  std::vector<Bytes> change(graph.ops.size() + 1);
  const std::vector<Span> spans = spans_of(graph);
  for (std::size_t t = 0; t < spans.size(); ++t) {
    if (!spans[t].used || !is_made_by_pass(graph.tensors[t])) continue;
    change[spans[t].first] += graph.tensors[t].bytes();
    change[spans[t].last + 1] -= graph.tensors[t].bytes();
  }
  Bytes live, peak;
  for (const Bytes& step : change) peak = std::max(peak, live += step);
  return peak;
}

}  // namespace plimsoll
