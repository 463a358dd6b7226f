#include "core/model/expert_slice.h"

namespace plimsoll {
namespace {

bool is_of_experts(ParameterRole role) {
  return role == ParameterRole::kExpertInWeight || role == ParameterRole::kExpertInBias ||
         role == ParameterRole::kExpertOutWeight || role == ParameterRole::kExpertOutBias;
}

}  // namespace

ModelSpec experts_of_rank(const ModelSpec& spec, const TensorShare& share) {
  ModelSpec part = spec;
  part.experts.shared = share.count;
  part.experts.share = share.index;
  return part;
}

std::vector<ElementRun> runs_of_experts(const ModelSpec& spec, GroupId group, const TensorShare& share) {
  const ParameterGroup whole = lay_out_parameters(spec).at(group);
  const ParameterGroup part = lay_out_parameters(experts_of_rank(spec, share)).at(group);
  std::vector<ElementRun> runs;
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {  // both have the same tensors in the same order
    const ParameterTensor &of = whole.tensors[i], &own = part.tensors[i];
    const std::int64_t first = is_of_experts(of.role) ? share.index * own.elements() : 0;
    append_run(runs, {of.offset + first, own.offset, own.elements()});
  }
  return runs;
}

std::vector<ElementRun> own_runs_of_experts(const ParameterGroup& group) {
  std::vector<ElementRun> runs;
  for (const ParameterTensor& tensor : group.tensors) {
    if (is_of_experts(tensor.role)) append_run(runs, {tensor.offset, tensor.offset, tensor.elements()});
  }
  return runs;
}

}  // namespace plimsoll
