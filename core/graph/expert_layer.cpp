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
/// Of the expert of all tokens, which has no biases: the role of one is never found.
constexpr WeightAndBias kSharedIn{Role::kSharedInWeight, Role::kFfnInBias};
constexpr WeightAndBias kSharedOut{Role::kSharedOutWeight, Role::kFfnOutBias};

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

/// As mixture_shape, of the experts of this rank.
OpShape share_shape(const LayerWriter& write, std::int64_t inputs, std::int64_t outputs = 0) {
  OpShape shape = mixture_shape(write, inputs, outputs);
  shape.terms = write.spec().experts.shared;
  return shape_of_share(shape);
}

OpShape activation_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  return {.rows = expert_rows(share_shape(write, spec.hidden)), .inputs = spec.expert_in_width(),
          .outputs = spec.expert_width(), .variant = static_cast<std::uint8_t>(spec.activation)};
}

/// A [rows that the own experts have of one rank, width] tensor of the compute type.
TensorId rows_of_experts(LayerWriter& write, Kind kind, std::int64_t width, const char* name) {
  return write.build().make(kind, expert_rows(share_shape(write, width)) * width, name);
}

/// The same for each rank that shares the experts.
TensorId rows_of_experts_of_all(LayerWriter& write, Kind kind, std::int64_t width, const char* name) {
  return write.build().make(kind, write.spec().experts.shared * expert_rows(share_shape(write, width)) * width, name);
}

/// A [rows of the own tokens at all experts, width] tensor.
TensorId rows_of_tokens(LayerWriter& write, Kind kind, std::int64_t width, const char* name) {
  return write.build().make(kind, expert_rows(mixture_shape(write, width)) * width, name);
}

/// One of equal parts of a tensor for each rank that shares the experts.
std::vector<TensorId> parts_of(LayerWriter& write, TensorId whole) {
  const std::int64_t count = write.spec().experts.shared, elements = write.build().elements(whole) / count;
  std::vector<TensorId> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(write.build().view(whole, i * elements, elements));
  return parts;
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

void experts_linear(LayerWriter& write, GroupId g, WeightAndBias of, TensorId x, TensorId routing, std::int64_t inputs,
                    std::int64_t outputs, TensorId y) {
  write.build().add(OpKind::kExpertLinear, share_shape(write, inputs, outputs),
                    {{x, kR}, {write.weight(g, of.weight), kR}, {write.weight(g, of.bias), kR}, {routing, kR}, {y, kW}});
}

void experts_linear_backward(LayerWriter& write, GroupId g, WeightAndBias of, TensorId dy, TensorId x, TensorId routing,
                             std::int64_t inputs, std::int64_t outputs, TensorId dx) {
  const OpShape shape = share_shape(write, inputs, outputs);
  write.build().add(OpKind::kExpertLinearBackwardInput, shape,
                    {{dy, kR}, {write.weight(g, of.weight), kR}, {routing, kR}, {dx, kW}});
  write.build().add(OpKind::kExpertLinearBackwardWeight, shape,
                    {{dy, kR}, {x, kR}, {routing, kR}, {write.weight_gradient(g, of.weight), kW},
                     {write.weight_gradient(g, of.bias), kW}});
}

void drop(LayerWriter& write, TensorId inner, TensorId routing) {
  if (write.spec().experts.dropout == 0) return;
  const OpShape shape = share_shape(write, write.spec().expert_width());
  write.build().add(OpKind::kExpertDropout, shape, {{inner, kRw}, {routing, kR}});
}

/// Where ranks share the experts: each gets the rows that are meant for its own.
TensorId to_experts(LayerWriter& write, TensorId rows, TensorId counts, std::int64_t width, Kind kind, const char* name) {
  GraphBuilder& build = write.build();
  const TensorId visitors = rows_of_experts_of_all(write, kind, width, name);
  build.add(OpKind::kToExperts, mixture_shape(write, width), {{rows, kR}, {counts, kR}, {visitors, kW}});
  return visitors;
}

/// And back.
TensorId from_experts(LayerWriter& write, TensorId visitors, TensorId counts, std::int64_t width, Kind kind, const char* name) {
  const TensorId rows = rows_of_tokens(write, kind, width, name);
  write.build().add(OpKind::kFromExperts, mixture_shape(write, width), {{visitors, kR}, {counts, kR}, {rows, kW}});
  return rows;
}

/// Every rank learns what comes to its experts from whom.
std::vector<TensorId> share_routing(LayerWriter& write, SavedExperts& saved) {
  GraphBuilder& build = write.build();
  OpShape shape = mixture_shape(write, 0);
  shape.terms = write.spec().experts.shared;
  shape.inputs = write.spec().experts.share;
  const TensorId all = build.make(Kind::kActivation, shape.terms * routing_elements(shape), DType::kInt32, "routings of ranks");
  build.add(OpKind::kGatherRoutings, shape, {{saved.routing, kR}, {all, kW}});
  const std::int64_t own = routing_elements(shape_of_share(shape));
  const TensorId routings = build.make(Kind::kActivation, shape.terms * own, DType::kInt32, "routings of own experts");
  saved.counts = build.make(Kind::kActivation, 2 * shape.terms + 3, DType::kInt32, "rows to and from ranks");
  build.add(OpKind::kShareRouting, shape, {{all, kR}, {routings, kW}, {saved.counts, kW}});
  return parts_of(write, routings);
}

/// What the experts here get, of each rank.
void dispatch(LayerWriter& write, TensorId x, SavedExperts& saved) {
  const std::int64_t hidden = write.spec().hidden;
  const bool shared = write.spec().experts.shared > 1;
  const std::vector<TensorId> routings = shared ? share_routing(write, saved) : std::vector{saved.routing};
  const TensorId rows = rows_of_tokens(write, Kind::kActivation, hidden, "tokens of experts");
  write.build().add(OpKind::kDispatch, mixture_shape(write, hidden), {{x, kR}, {saved.routing, kR}, {rows, kW}});
  std::vector<TensorId> sent{rows};
  if (shared) sent = parts_of(write, to_experts(write, rows, saved.counts, hidden, Kind::kActivation, "visiting tokens"));
  for (std::size_t i = 0; i < sent.size(); ++i) saved.visits.push_back({routings[i], sent[i], {}, {}});
}

/// Both layers of the experts here. Returns `out`, which is made here where it is no part of another tensor.
TensorId pass_experts(LayerWriter& write, GroupId g, bool training, SavedExperts::Visit& visit, TensorId out = {}) {
  const std::int64_t hidden = write.spec().hidden, width = write.spec().expert_width(), in = write.spec().expert_in_width();
  visit.in = rows_of_experts(write, Kind::kActivation, in, "experts in");
  experts_linear(write, g, kIn, visit.sent, visit.routing, hidden, in, visit.in);
  visit.act = rows_of_experts(write, Kind::kActivation, width, "experts activation");
  write.build().add(OpKind::kActivation, activation_shape(write), {{visit.in, kR}, {visit.act, kW}});
  if (training) drop(write, visit.act, visit.routing);
  if (!out.valid()) out = rows_of_experts(write, Kind::kActivation, hidden, "experts out");
  experts_linear(write, g, kOut, visit.act, visit.routing, width, hidden, out);
  return out;
}

TensorId pass_experts_back(LayerWriter& write, GroupId g, const SavedExperts::Visit& visit, TensorId d_out,
                           TensorId d_sent = {}) {
  const std::int64_t hidden = write.spec().hidden, width = write.spec().expert_width(), in = write.spec().expert_in_width();
  const TensorId d_act = rows_of_experts(write, Kind::kActivationGradient, width, "experts activation gradient");
  experts_linear_backward(write, g, kOut, d_out, visit.act, visit.routing, width, hidden, d_act);
  drop(write, d_act, visit.routing);
  const TensorId d_in = rows_of_experts(write, Kind::kActivationGradient, in, "experts in gradient");
  write.build().add(OpKind::kActivationBackward, activation_shape(write), {{visit.in, kR}, {d_act, kR}, {d_in, kW}});
  if (!d_sent.valid()) d_sent = rows_of_experts(write, Kind::kActivationGradient, hidden, "tokens of experts gradient");
  experts_linear_backward(write, g, kIn, d_in, visit.sent, visit.routing, hidden, in, d_sent);
  write.accumulate_experts(g);
  return d_sent;
}

/// What the experts make of the own tokens.
TensorId pass_visits(LayerWriter& write, GroupId g, bool training, SavedExperts& saved) {
  if (saved.visits.size() == 1) return pass_experts(write, g, training, saved.visits[0]);
  const std::int64_t hidden = write.spec().hidden;
  const TensorId out = rows_of_experts_of_all(write, Kind::kActivation, hidden, "experts out of visitors");
  const std::vector<TensorId> parts = parts_of(write, out);
  for (std::size_t i = 0; i < parts.size(); ++i) pass_experts(write, g, training, saved.visits[i], parts[i]);
  return from_experts(write, out, saved.counts, hidden, Kind::kActivation, "returned tokens");
}

/// From the gradients of the experts' outputs to those of what they read; of all ranks' rows where these share them.
TensorId visits_back(LayerWriter& write, GroupId g, TensorId d_rows, const SavedExperts& saved) {
  const std::int64_t hidden = write.spec().hidden;
  constexpr Kind kind = Kind::kActivationGradient;
  if (saved.visits.size() == 1) return pass_experts_back(write, g, saved.visits[0], d_rows);
  const TensorId d_sent = rows_of_experts_of_all(write, kind, hidden, "visiting tokens gradient");
  const auto d_out = parts_of(write, to_experts(write, d_rows, saved.counts, hidden, kind, "visiting gradients"));
  const auto d_visits = parts_of(write, d_sent);
  for (std::size_t i = 0; i < d_out.size(); ++i) pass_experts_back(write, g, saved.visits[i], d_out[i], d_visits[i]);
  return from_experts(write, d_sent, saved.counts, hidden, kind, "returned gradients");
}

/// What the expert of all tokens makes; only a pass that learns nothing has one (foreign_feature). Its gate is left
/// out.
TensorId pass_shared(LayerWriter& write, GroupId g, TensorId x) {
  const ModelSpec& spec = write.spec();
  const std::int64_t width = spec.experts.shared_width, in = is_gated(spec.activation) ? 2 * width : width;
  const TensorId wide = write.linear(g, kSharedIn, x, spec.hidden, in, "shared expert in");
  const TensorId active = write.activation(width, "shared expert activation");
  write.build().add(
      OpKind::kActivation,
      {.rows = write.rows(), .inputs = in, .outputs = width, .variant = static_cast<std::uint8_t>(spec.activation)},
      {{wide, kR}, {active, kW}});
  return write.linear(g, kSharedOut, active, width, spec.hidden, "shared expert out");
}

}  // namespace

TensorId experts_forward(LayerWriter& write, GroupId g, TensorId x, bool training, SavedExperts& saved) {
  const std::int64_t hidden = write.spec().hidden;
  route(write, g, x, training, saved);
  dispatch(write, x, saved);
  saved.out = pass_visits(write, g, training, saved);
  const TensorId y = write.activation(hidden, "combined experts");
  write.build().add(OpKind::kCombine, mixture_shape(write, hidden),
                    {{saved.out, kR}, {saved.gates, kR}, {saved.routing, kR}, {y, kW}});
  if (write.spec().experts.shared_width == 0) return y;
  return write.add(y, pass_shared(write, g, x), Kind::kActivation, "experts of all and of some");
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
  const std::int64_t hidden = write.spec().hidden;
  GraphBuilder& build = write.build();
  const TensorId d_out = rows_of_tokens(write, Kind::kActivationGradient, hidden, "experts out gradient");
  const TensorId d_gates =
      build.make(Kind::kActivationGradient, write.rows() * write.spec().experts.per_token, sum_dtype(write.recipe().precision),
                 "expert gates gradient");
  build.add(OpKind::kCombineBackward, mixture_shape(write, hidden),
            {{d_stream, kR}, {saved.out, kR}, {saved.gates, kR}, {saved.routing, kR}, {d_out, kW}, {d_gates, kW}});
  const TensorId d_sent = visits_back(write, g, d_out, saved);
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
