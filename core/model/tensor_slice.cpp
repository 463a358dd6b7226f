#include "core/model/tensor_slice.h"

namespace plimsoll {
namespace {

/// Widths of the outputs that are divided each for itself.
std::vector<std::int64_t> output_widths(const ModelSpec& spec, ParameterRole role) {
  if (role == ParameterRole::kQkvWeight || role == ParameterRole::kQkvBias) {
    const std::int64_t keys = spec.kv_heads * spec.head_dim;
    return {spec.attention_width(), keys, keys};
  }
  const bool of_expert = role == ParameterRole::kExpertInWeight || role == ParameterRole::kExpertInBias;
  const std::int64_t layers = (of_expert ? spec.experts.count : 1) * (is_gated(spec.activation) ? 2 : 1);
  return std::vector<std::int64_t>(static_cast<std::size_t>(layers), of_expert ? spec.expert_width() : spec.ffn);
}

void append_outputs(std::vector<ElementRun>& runs, const ModelSpec& spec, const ParameterTensor& whole,
                    const ParameterTensor& own, const TensorShare& share) {
  const std::int64_t each = whole.rows > 1 ? whole.columns : 1;  // a bias has an element an output
  std::int64_t from = whole.offset, to = own.offset;
  for (const std::int64_t width : output_widths(spec, whole.role)) {
    const std::int64_t count = width / share.count * each;
    append_run(runs, {from + share.index * count, to, count});
    from += width * each;
    to += count;
  }
}

void append_inputs(std::vector<ElementRun>& runs, const ParameterTensor& whole, const ParameterTensor& own,
                   const TensorShare& share) {
  for (std::int64_t row = 0; row < whole.rows; ++row) {
    const std::int64_t from = whole.offset + row * whole.columns + share.index * own.columns;
    append_run(runs, {from, own.offset + row * own.columns, own.columns});
  }
}

}  // namespace

void append_run(std::vector<ElementRun>& runs, const ElementRun& next) {
  if (next.count == 0) return;
  if (!runs.empty()) {
    ElementRun& last = runs.back();
    if (last.whole + last.count == next.whole && last.own + last.count == next.own) {
      last.count += next.count;
      return;
    }
  }
  runs.push_back(next);
}

TensorCut cut_of(ParameterRole role) {
  switch (role) {
    case ParameterRole::kQkvWeight:
    case ParameterRole::kQkvBias:
    case ParameterRole::kFfnInWeight:
    case ParameterRole::kFfnInBias:
    case ParameterRole::kExpertInWeight:
    case ParameterRole::kExpertInBias: return TensorCut::kOutputs;
    case ParameterRole::kProjectionWeight:
    case ParameterRole::kFfnOutWeight:
    case ParameterRole::kExpertOutWeight: return TensorCut::kInputs;
    default: return TensorCut::kNone;
  }
}

ModelSpec slice_of_model(const ModelSpec& spec, std::uint32_t count) {
  ModelSpec slice = spec;
  slice.heads /= count;
  slice.kv_heads /= count;
  slice.ffn /= count;
  slice.experts.width /= count;
  return slice;
}

std::vector<ElementRun> runs_of_slice(const ModelSpec& spec, GroupId group, const TensorShare& share) {
  const ParameterGroup whole = lay_out_parameters(spec).at(group);
  const ParameterGroup slice = lay_out_parameters(slice_of_model(spec, share.count)).at(group);
  std::vector<ElementRun> runs;
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {  // both have the same tensors in the same order
    const ParameterTensor &of = whole.tensors[i], &own = slice.tensors[i];
    switch (cut_of(of.role)) {
      case TensorCut::kNone: append_run(runs, {of.offset, own.offset, of.elements()}); break;
      case TensorCut::kOutputs: append_outputs(runs, spec, of, own, share); break;
      case TensorCut::kInputs: append_inputs(runs, of, own, share); break;
    }
  }
  return runs;
}

std::vector<ElementRun> own_runs_of_slice(const ParameterGroup& slice) {
  std::vector<ElementRun> runs;
  for (const ParameterTensor& tensor : slice.tensors) {
    if (cut_of(tensor.role) != TensorCut::kNone) append_run(runs, {tensor.offset, tensor.offset, tensor.elements()});
  }
  return runs;
}

}  // namespace plimsoll
