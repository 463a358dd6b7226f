#include "core/graph/graph_builder.h"

#include "core/graph/op_work.h"
#include "core/model/stored_group.h"

namespace plimsoll {

GraphBuilder::GraphBuilder(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options) : options_(options) {
  graph_.spec = spec;
  graph_.recipe = recipe;
  graph_.parameters = lay_out_parameters(spec, recipe.adapter);
  for (auto& of_kind : groups_) of_kind.resize(graph_.parameters.groups.size());
}

TensorId GraphBuilder::make(TensorKind kind, std::int64_t elements, DType dtype, std::string name) {
  graph_.tensors.push_back({.kind = kind, .dtype = dtype, .elements = elements, .block = block_, .group = {}, .view_of = {},
                            .view_offset = 0, .name = std::move(name)});
  return TensorId(graph_.tensors.size() - 1);
}

TensorId GraphBuilder::make(TensorKind kind, std::int64_t elements, std::string name) {
  return make(kind, elements, compute_dtype(recipe().precision), std::move(name));
}

OptimizerState GraphBuilder::shape_of_group(TensorKind kind, GroupId group) const {
  const ParameterGroup& of = parameters().at(group);
  for (const OptimizerState& state : optimizer_states(recipe(), of)) {
    if (state.kind == kind) return state;
  }
  const bool compute_type = kind == TensorKind::kParameter || kind == TensorKind::kGradient;
  const bool sums = kind == TensorKind::kAccumulator;
  const Precision precision = recipe().precision;
  if (is_encoded(of)) return {kind, DType::kUint8, stored_bytes(of, compute_dtype(precision)).count};
  return {kind, compute_type ? compute_dtype(precision) : sums ? sum_dtype(precision) : state_dtype(precision), of.elements};
}

TensorId GraphBuilder::whole_group(TensorKind kind, GroupId group) {
  TensorId& known = groups_[static_cast<std::size_t>(kind)][group.index];
  if (known.valid()) return known;
  const OptimizerState shape = shape_of_group(kind, group);
  const ParameterGroup& of = parameters().at(group);
  known = make(kind, shape.elements, shape.dtype, std::string(to_text(kind)) + " of " + of.name);
  graph_.tensors[known.index].group = group;
  graph_.tensors[known.index].block = of.block;
  return known;
}

TensorId GraphBuilder::loss_scale() {
  if (scales_loss(recipe().precision) && !graph_.loss_scale.valid()) {
    graph_.loss_scale = make(TensorKind::kScalar, kLossScaleDoubles, DType::kFp64, "loss scale");
  }
  return graph_.loss_scale;
}

TensorId GraphBuilder::view(TensorId tensor, std::int64_t offset, std::int64_t elements) {
  Tensor part = graph_.at(tensor);
  part.view_of = tensor;
  part.view_offset = offset;
  part.elements = elements;
  graph_.tensors.push_back(std::move(part));
  return TensorId(graph_.tensors.size() - 1);
}

TensorId GraphBuilder::part(TensorId tensor, std::int64_t offset, std::int64_t elements, DType dtype) {
  if (elements == graph_.at(tensor).elements && dtype == graph_.at(tensor).dtype) return tensor;
  const TensorId viewed = view(tensor, offset, elements);
  graph_.tensors[viewed.index].dtype = dtype;
  return viewed;
}

TensorId GraphBuilder::parameter(TensorKind kind, GroupId group, ParameterRole role) {
  const ParameterTensor* tensor = parameters().at(group).find(role);
  if (tensor == nullptr || (parameters().at(group).frozen && kind != TensorKind::kParameter)) return {};
  const TensorId whole = whole_group(kind, group);
  const ParameterGroup& of = parameters().at(group);
  if (!is_encoded(of)) return view(whole, tensor->offset, tensor->elements());
  const StoredTensor stored = stored_tensor(of, *tensor, compute_dtype(recipe().precision));
  const TensorId part = view(whole, stored.first(), stored.elements());
  graph_.tensors[part.index].dtype = stored.dtype;
  return part;
}

TensorId GraphBuilder::adapter(TensorKind kind, std::int64_t block, ParameterRole role, AdapterTarget target) {
  const GroupId group = parameters().adapter(block);
  const ParameterTensor& tensor = *parameters().at(group).find(role, target);
  return view(whole_group(kind, group), tensor.offset, tensor.elements());
}

void GraphBuilder::add(OpKind kind, const OpShape& shape, const std::vector<Operand>& operands) {
  add(kind, shape, operands, is_product(kind) ? product_dtype(recipe().precision) : compute_dtype(recipe().precision));
}

void GraphBuilder::add(OpKind kind, const OpShape& shape, const std::vector<Operand>& operands, DType dtype) {
  Op op{.kind = kind, .phase = phase_, .block = block_, .dtype = dtype, .shape = shape, .operands = {}};
  op.operands.reserve(operands.size());
  for (const Operand& operand : operands) {
    if (operand.tensor.valid()) op.operands.push_back(operand);
  }
  graph_.ops.push_back(std::move(op));
}

void GraphBuilder::add_with_workspace(OpKind kind, const OpShape& shape, const std::vector<Operand>& operands) {
  add(kind, shape, operands);
  const DType dtype = sum_dtype(recipe().precision);
  const Bytes bytes = workspace_of(kind, shape, graph_.ops.back().dtype, options_.workers);
  if (bytes.count == 0) return;
  const TensorId scratch = make(TensorKind::kWorkspace, bytes.count / size_of(dtype), dtype, "workspace");
  graph_.ops.back().operands.push_back({scratch, Access::kWrite});
}

void GraphBuilder::enter(Phase phase, std::int64_t block) {
  phase_ = phase;
  block_ = block;
}

}  // namespace plimsoll
