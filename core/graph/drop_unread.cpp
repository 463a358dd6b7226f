#include "core/graph/drop_unread.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

/// Goes from the last op to the first and notes which tensors something later reads.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph), read_(graph.tensors.size(), 0) {}

  [[nodiscard]] bool is_read(const Op& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](const Operand& operand) { return writes(operand.access) && read_[whole(operand.tensor)] != 0; });
  }

  /// What `op` replaces nobody before it needs to have written; what it reads, somebody does.
  void go_past(const Op& op) {
    for (const Operand& operand : op.operands) {
      const bool replaces = operand.access == Access::kWrite && !graph_.at(operand.tensor).view_of.valid();
      if (replaces) read_[operand.tensor.index] = 0;
    }
    for (const Operand& operand : op.operands) {
      if (reads(operand.access)) read_[whole(operand.tensor)] = 1;
    }
  }

 private:
  [[nodiscard]] std::size_t whole(TensorId tensor) const {
    const TensorId of = graph_.at(tensor).view_of;
    return of.valid() ? of.index : tensor.index;
  }

  const Graph& graph_;
  std::vector<char> read_;
};

}  // namespace

void drop_unread(Graph& graph) {
  Readers readers(graph);
  std::vector<Op> kept;
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    if (graph.ops[i].phase == Phase::kBackward && !readers.is_read(graph.ops[i])) continue;
    readers.go_past(graph.ops[i]);
    kept.push_back(std::move(graph.ops[i]));
  }
  std::reverse(kept.begin(), kept.end());
  graph.ops = std::move(kept);
}

}  // namespace plimsoll
