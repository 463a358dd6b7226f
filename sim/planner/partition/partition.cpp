#include "sim/planner/partition/partition.h"

namespace plimsoll {
namespace {

void append_leaves(const std::vector<PartitionStage>& stages, std::size_t replicas, std::vector<PartitionLeaf>& leaves) {
  for (const PartitionStage& stage : stages) {
    if (stage.inner.empty()) {
      leaves.push_back({&stage, replicas * stage.replicas});
    } else {
      append_leaves(stage.inner, replicas * stage.replicas, leaves);
    }
  }
}

}  // namespace

const char* to_text(PartitionMethod method) {
  switch (method) {
    case PartitionMethod::kPipeDream:
      return "pipedream";
    case PartitionMethod::kDnn:
      return "dnn";
    case PartitionMethod::kAlpa:
      return "alpa";
    case PartitionMethod::kPiper:
      return "piper";
  }
  return "?";
}

std::vector<PartitionLeaf> leaves_of(const Partition& partition) {
  std::vector<PartitionLeaf> leaves;
  append_leaves(partition.stages, 1, leaves);
  return leaves;
}

}  // namespace plimsoll
