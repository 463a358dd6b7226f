#include "sim/planner/ranks/stage_cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace plimsoll {
namespace {

/// Where a tensor was last written.
struct Writer {
  std::uint32_t stage = 0;
  bool backward = false;
};

/// Is of one micro-batch, and made by ops.
bool travels(TensorKind kind) {
  return kind == TensorKind::kActivation || kind == TensorKind::kActivationGradient || kind == TensorKind::kGradient ||
         kind == TensorKind::kScalar;
}

class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<std::uint32_t>& blocks) : graph_(graph) {
    cut_.stages.resize(blocks.size());
    cut_.reads.resize(blocks.size());
    for (std::uint32_t stage = 0; stage < blocks.size(); ++stage)
      stage_of_block_.insert(stage_of_block_.end(), blocks[stage], stage);
  }

  StageCut run() {
    bool below = false;  // the model's body, on the way there or back
    Phase phase = Phase::kForward;
    for (std::size_t i = 0; i < graph_.ops.size() && graph_.ops[i].phase != Phase::kOptimizer; ++i) {
      const Op& op = graph_.ops[i];
      if (op.phase != phase) below = false;
      phase = op.phase;
      below = below || op.block >= 0;
      const bool first = (op.phase == Phase::kForward) != below;
      const auto last = static_cast<std::uint32_t>(cut_.stages.size() - 1);
      visit(i, op.block >= 0 ? stage_of_block_[static_cast<std::size_t>(op.block)] : first ? 0 : last);
    }
    place_groups();
    return std::move(cut_);
  }

 private:
  void visit(std::size_t index, std::uint32_t stage) {
    const Op& op = graph_.ops[index];
    const bool backward = op.phase == Phase::kBackward;
    (backward ? cut_.stages[stage].backward : cut_.stages[stage].forward).push_back(index);
    for (const Operand& operand : op.operands) {
      const Tensor& tensor = graph_.at(operand.tensor);
      if (tensor.kind == TensorKind::kParameter) note_read(stage, tensor.group);
      if (travels(tensor.kind) && reads(operand.access)) look_for_crossing(operand.tensor, stage, backward);
    }
    for (const Operand& operand : op.operands) {
      if (writes(operand.access)) written_[whole_of(operand.tensor)] = {{stage, backward}, {}};
    }
  }

  void note_read(std::uint32_t stage, GroupId group) {
    auto& groups = cut_.reads[stage];
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }

  void look_for_crossing(TensorId tensor, std::uint32_t stage, bool backward) {
    const auto found = written_.find(whole_of(tensor));
    if (found == written_.end()) return;
    auto& [writer, arrived] = found->second;
    if (writer.stage == stage || !arrived.insert(stage).second) return;
    cut_.crossings.push_back({tensor, writer.stage, stage, writer.backward, backward});
  }

  void place_groups() {
    const auto& groups = graph_.parameters.groups;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool embedding = GroupId(i) == graph_.parameters.embedding();
      const auto last = static_cast<std::uint32_t>(cut_.stages.size() - 1);
      cut_.stage_of_group.push_back(groups[i].block >= 0 ? stage_of_block_[static_cast<std::size_t>(groups[i].block)]
                                    : embedding          ? 0
                                                         : last);
    }
  }

  [[nodiscard]] TensorId whole_of(TensorId tensor) const {
    return graph_.at(tensor).view_of.valid() ? graph_.at(tensor).view_of : tensor;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> stage_of_block_;
  StageCut cut_;
  std::map<TensorId, std::pair<Writer, std::set<std::uint32_t>>> written_;  ///< and which stages have it already
};

}  // namespace

StageCut cut_into_stages(const Graph& graph, const std::vector<std::uint32_t>& blocks) {
  return Cutter(graph, blocks).run();
}

StageCut cut_into_stages(const Graph& graph, std::uint32_t stages) {
  return cut_into_stages(graph,
                         std::vector<std::uint32_t>(stages, static_cast<std::uint32_t>(graph.spec.blocks() / stages)));
}

bool is_weight_gradient(OpKind kind) {
  switch (kind) {
    case OpKind::kLinearBackwardWeight:
    case OpKind::kEmbeddingBackward:
    case OpKind::kAccumulate: return true;
    default: return false;
  }
}

}  // namespace plimsoll
