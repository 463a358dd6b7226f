#include "core/graph/expert_layer.h"

#include "core/graph/expert_shape.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;
constexpr WeightAndBias kIn{Role::kExpertInWeight, Role::kExpertInBias};
constexpr WeightAndBias kOut{Role::kExpertOutWeight, Role::kExpertOutBias};

bool draws(const ExpertSpec& experts) {
  return experts.gating == GatingKind::kNoisy || experts.gating == GatingKind::kGShard;
}

/// Sizes that all kernels of the mixture share. Where a text is written, tokens come in numbers that no group divides.
OpShape mixture_shape(const LayerWriter& write, std::int64_t inputs, std::int64_t outputs = 0) {
  const ExpertSpec& experts = write.spec().experts;
  const std::int64_t groups = write.rows() % experts.groups == 0 ? experts.groups : 1;
  return {.rows = write.rows(), .inputs = inputs, .outputs = outputs, .experts = experts.count, .choices = experts.per_token,
          .capacity = capacity_of(experts, write.rows() / groups), .groups = groups};
}

OpShape router_shape(const LayerWriter& write, bool training) {
  OpShape shape = mixture_shape(write, write.spec().hidden);
  shape.variant = static_cast<std::uint8_t>(write.spec().experts.gating);
  shape.constant = training && draws(write.spec().experts) ? 1 : 0;
  return shape;
}

OpShape activation_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  return {.rows = expert_rows(mixture_shape(write, spec.hidden)), .inputs = spec.expert_in_width(),
          .outputs = spec.expert_width(), .variant = static_cast<std::uint8_t>(spec.activation)};
}

/// A [rows of all experts, width] tensor of the compute type.
TensorId rows_of_experts(LayerWriter& write, Kind kind, std::int64_t width, const char* name) {
  return write.build().make(kind, expert_rows(mixture_shape(write, width)) * width, name);
}

void route(LayerWriter& write, GroupId g, TensorId x, bool training, SavedExperts& saved) {
  GraphBuilder& build = write.build();
  const OpShape shape = router_shape(write, training);
  saved.scores = write.statistics(scores_of_token(shape), "router scores");
  saved.gates = write.statistics(shape.choices, "expert gates");
  saved.routing = build.make(Kind::kActivation, routing_elements(shape), DType::kInt32, "routing");
  saved.statistics = build.make(Kind::kScalar, statistics_elements(shape), DType::kFp64, "router statistics");
  build.add(OpKind::kRouter, shape,
            {{x, kR}, {write.weight(g, Role::kRouterWeight), kR}, {write.weight(g, Role::kRouterNoiseWeight), kR},
             {saved.scores, kW}, {saved.gates, kW}, {saved.routing, kW}, {saved.statistics, kW}});
}

TensorId experts_linear(LayerWriter& write, GroupId g, WeightAndBias of, TensorId x, TensorId routing, std::int64_t inputs,
                        std::int64_t outputs, const char* name) {
  const TensorId y = rows_of_experts(write, Kind::kActivation, outputs, name);
  write.build().add(OpKind::kExpertLinear, mixture_shape(write, inputs, outputs),
                    {{x, kR}, {write.weight(g, of.weight), kR}, {write.weight(g, of.bias), kR}, {routing, kR}, {y, kW}});
  return y;
}

TensorId experts_linear_backward(LayerWriter& write, GroupId g, WeightAndBias of, TensorId dy, TensorId x, TensorId routing,
                                 std::int64_t inputs, std::int64_t outputs, const char* name) {
  const TensorId dx = rows_of_experts(write, Kind::kActivationGradient, inputs, name);
  const OpShape shape = mixture_shape(write, inputs, outputs);
  write.build().add(OpKind::kExpertLinearBackwardInput, shape,
                    {{dy, kR}, {write.weight(g, of.weight), kR}, {routing, kR}, {dx, kW}});
  write.build().add(OpKind::kExpertLinearBackwardWeight, shape,
                    {{dy, kR}, {x, kR}, {routing, kR}, {write.weight_gradient(g, of.weight), kW},
                     {write.weight_gradient(g, of.bias), kW}});
  return dx;
}

void drop(LayerWriter& write, TensorId inner, TensorId routing) {
  if (write.spec().experts.dropout == 0) return;
  const OpShape shape = mixture_shape(write, write.spec().expert_width());
  write.build().add(OpKind::kExpertDropout, shape, {{inner, kRw}, {routing, kR}});
}

}  // namespace

TensorId experts_forward(LayerWriter& write, GroupId g, TensorId x, bool training, SavedExperts& saved) {
  const std::int64_t hidden = write.spec().hidden, width = write.spec().expert_width(), in = write.spec().expert_in_width();
  GraphBuilder& build = write.build();
  route(write, g, x, training, saved);
  saved.sent = rows_of_experts(write, Kind::kActivation, hidden, "tokens of experts");
  build.add(OpKind::kDispatch, mixture_shape(write, hidden), {{x, kR}, {saved.routing, kR}, {saved.sent, kW}});
  saved.in = experts_linear(write, g, kIn, saved.sent, saved.routing, hidden, in, "experts in");
  saved.act = rows_of_experts(write, Kind::kActivation, width, "experts activation");
  build.add(OpKind::kActivation, activation_shape(write), {{saved.in, kR}, {saved.act, kW}});
  if (training) drop(write, saved.act, saved.routing);
  saved.out = experts_linear(write, g, kOut, saved.act, saved.routing, width, hidden, "experts out");
  const TensorId y = write.activation(hidden, "combined experts");
  build.add(OpKind::kCombine, mixture_shape(write, hidden), {{saved.out, kR}, {saved.gates, kR}, {saved.routing, kR}, {y, kW}});
  return y;
}

TensorId balance_experts(LayerWriter& write, const std::vector<TensorId>& statistics) {
  if (statistics.empty()) return {};
  GraphBuilder& build = write.build();
  OpShape shape = router_shape(write, false);
  shape.inputs = 0;
  shape.terms = static_cast<std::int64_t>(statistics.size());
  const TensorId slopes = build.make(Kind::kScalar, slopes_elements(shape), DType::kFp64, "slopes of the expert loss");
  const TensorId losses = build.make(Kind::kScalar, 2, DType::kFp64, "expert loss and refused share");
  std::vector<Operand> operands;
  for (const TensorId of_block : statistics) operands.push_back({of_block, kR});
  operands.push_back({build.loss_scale(), kR});
  operands.push_back({slopes, kW});
  operands.push_back({losses, kW});
  build.add(OpKind::kExpertBalance, shape, operands);
  return slopes;
}

TensorId experts_backward(LayerWriter& write, GroupId g, TensorId d_stream, TensorId x, TensorId slopes,
                          const SavedExperts& saved) {
  const std::int64_t hidden = write.spec().hidden, width = write.spec().expert_width(), in = write.spec().expert_in_width();
  GraphBuilder& build = write.build();
  const TensorId d_out = rows_of_experts(write, Kind::kActivationGradient, hidden, "experts out gradient");
  const TensorId d_gates =
      build.make(Kind::kActivationGradient, write.rows() * write.spec().experts.per_token, sum_dtype(write.recipe().precision),
                 "expert gates gradient");
  build.add(OpKind::kCombineBackward, mixture_shape(write, hidden),
            {{d_stream, kR}, {saved.out, kR}, {saved.gates, kR}, {saved.routing, kR}, {d_out, kW}, {d_gates, kW}});
  const TensorId d_act =
      experts_linear_backward(write, g, kOut, d_out, saved.act, saved.routing, width, hidden, "experts activation gradient");
  drop(write, d_act, saved.routing);
  const TensorId d_in = rows_of_experts(write, Kind::kActivationGradient, in, "experts in gradient");
  build.add(OpKind::kActivationBackward, activation_shape(write), {{saved.in, kR}, {d_act, kR}, {d_in, kW}});
  const TensorId d_sent =
      experts_linear_backward(write, g, kIn, d_in, saved.sent, saved.routing, hidden, in, "tokens of experts gradient");
  const TensorId dx = write.gradient(hidden, "norm 2 gradient");
  build.add(OpKind::kDispatchBackward, mixture_shape(write, hidden), {{d_sent, kR}, {saved.routing, kR}, {dx, kW}});
  build.add_with_workspace(
      OpKind::kRouterBackward, router_shape(write, true),
      {{x, kR}, {write.weight(g, Role::kRouterWeight), kR}, {write.weight(g, Role::kRouterNoiseWeight), kR}, {saved.scores, kR},
       {saved.gates, kR}, {d_gates, kR}, {saved.routing, kR}, {saved.statistics, kR}, {slopes, kR}, {dx, kRw},
       {write.weight_gradient(g, Role::kRouterWeight), kW}, {write.weight_gradient(g, Role::kRouterNoiseWeight), kW}});
  return dx;
}

}  // namespace plimsoll
