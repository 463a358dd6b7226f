#include "core/graph/layer_writer.h"

namespace plimsoll {
namespace {

constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

OpShape norm_shape(const ModelSpec& spec, std::int64_t rows) {
  return {.rows = rows, .inputs = spec.hidden, .variant = static_cast<std::uint8_t>(spec.norm), .constant = spec.norm_epsilon};
}

}  // namespace

TensorId LayerWriter::activation(std::int64_t width, const char* name) {
  return build_.make(TensorKind::kActivation, rows_ * width, name);
}

TensorId LayerWriter::gradient(std::int64_t width, const char* name) {
  return build_.make(TensorKind::kActivationGradient, rows_ * width, name);
}

TensorId LayerWriter::statistics(std::int64_t per_row, const char* name) {
  return build_.make(TensorKind::kActivation, rows_ * per_row, sum_dtype(recipe().precision), name);
}

TensorId LayerWriter::weight(GroupId group, ParameterRole role) { return build_.parameter(TensorKind::kParameter, group, role); }

TensorId LayerWriter::weight_gradient(GroupId group, ParameterRole role) {
  return build_.parameter(TensorKind::kGradient, group, role);
}

TensorId LayerWriter::matrix(GroupId group, ParameterRole role) {
  const TensorId stored = weight(group, role);
  const ParameterTensor& of = *parameters().at(group).find(role);
  if (of.storage == BaseStorage::kCompute) return stored;
  const TensorId decoded = build_.make(TensorKind::kWorkspace, of.elements(), "decoded weight");
  build_.add(OpKind::kDequantize, {.rows = of.rows, .inputs = of.columns, .variant = static_cast<std::uint8_t>(of.storage)},
             {{stored, kR}, {decoded, kW}});
  return decoded;
}

OpShape LayerWriter::linear_shape(std::int64_t inputs, std::int64_t outputs) const {
  return {.rows = rows_, .inputs = inputs, .outputs = outputs};
}

TensorId LayerWriter::norm(GroupId group, WeightAndBias of, TensorId x, TensorId& saved_statistics, const char* name) {
  const TensorId y = activation(spec().hidden, name);
  saved_statistics = statistics(2, "norm statistics");
  build_.add(OpKind::kNorm, norm_shape(spec(), rows_),
             {{x, kR}, {weight(group, of.weight), kR}, {weight(group, of.bias), kR}, {y, kW}, {saved_statistics, kW}});
  return y;
}

void LayerWriter::norm_backward(GroupId group, WeightAndBias of, TensorId dy, TensorId x, TensorId saved_statistics, TensorId dx,
                                Access access) {
  build_.add_with_workspace(OpKind::kNormBackward, norm_shape(spec(), rows_),
                            {{dy, kR}, {x, kR}, {weight(group, of.weight), kR}, {saved_statistics, kR}, {dx, access},
                             {weight_gradient(group, of.weight), kW}, {weight_gradient(group, of.bias), kW}});
}

TensorId LayerWriter::linear(GroupId group, WeightAndBias of, TensorId x, std::int64_t inputs, std::int64_t outputs,
                             const char* name) {
  const TensorId y = activation(outputs, name);
  const TensorId w = matrix(group, of.weight);
  build_.add(OpKind::kLinear, linear_shape(inputs, outputs),
             {{x, kR}, {w, kR}, {weight(group, of.bias), kR}, {y, kW}});
  adapters_.forward(parameters().at(group).block, of.weight, x, y, outputs);
  return y;
}

TensorId LayerWriter::linear_backward(GroupId group, WeightAndBias of, TensorId dy, TensorId x, std::int64_t inputs,
                                      std::int64_t outputs, const char* name) {
  const TensorId dx = gradient(inputs, name);
  const TensorId w = matrix(group, of.weight);
  build_.add(OpKind::kLinearBackwardInput, linear_shape(inputs, outputs), {{dy, kR}, {w, kR}, {dx, kW}});
  adapters_.backward(parameters().at(group).block, of.weight, dy, x, dx, outputs);
  if (parameters().at(group).frozen) return dx;
  build_.add(OpKind::kLinearBackwardWeight, linear_shape(inputs, outputs),
             {{dy, kR}, {x, kR}, {weight_gradient(group, of.weight), kW}, {weight_gradient(group, of.bias), kW}});
  return dx;
}

TensorId LayerWriter::add(TensorId a, TensorId b, TensorKind kind, const char* name) {
  const TensorId y = build_.make(kind, rows_ * spec().hidden, name);
  build_.add(OpKind::kAdd, {.rows = rows_, .inputs = spec().hidden}, {{a, kR}, {b, kR}, {y, kW}});
  return y;
}

void LayerWriter::accumulate(GroupId group) {
  if (recipe().accumulate == 1) return;
  if (parameters().at(group).frozen) {
    if (parameters().at(group).block < 0) return;
    group = parameters().adapter(parameters().at(group).block);
  }
  const ParameterGroup& of = parameters().at(group);
  std::int64_t first = 0;
  for (const ElementRun& experts : shared_experts(group)) {
    accumulate_run(group, first, experts.own - first);
    first = experts.own + experts.count;
  }
  accumulate_run(group, first, of.elements - first);
}

void LayerWriter::accumulate_experts(GroupId group) {
  for (const ElementRun& experts : shared_experts(group)) accumulate_run(group, experts.own, experts.count);
}

std::vector<ElementRun> LayerWriter::shared_experts(GroupId group) const {
  return spec().experts.shared > 1 ? own_runs_of_experts(parameters().at(group)) : std::vector<ElementRun>();
}

void LayerWriter::accumulate_run(GroupId group, std::int64_t first, std::int64_t count) {
  if (count == 0) return;
  TensorId gradient = build_.whole_group(TensorKind::kGradient, group);
  TensorId sum = build_.whole_group(TensorKind::kAccumulator, group);
  if (count < parameters().at(group).elements) {
    gradient = build_.view(gradient, first, count);
    sum = build_.view(sum, first, count);
  }
  build_.add(OpKind::kAccumulate, {.rows = count}, {{gradient, kR}, {sum, kRw}});
}

}  // namespace plimsoll
