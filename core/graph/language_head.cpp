#include "core/graph/language_head.h"

#include "core/graph/loss_layer.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;
constexpr WeightAndBias kFinalNorm{Role::kFinalNormWeight, Role::kFinalNormBias};
constexpr WeightAndBias kTransform{Role::kTransformWeight, Role::kTransformBias};
constexpr WeightAndBias kTransformNorm{Role::kTransformNormWeight, Role::kTransformNormBias};

}  // namespace

GroupId LanguageHead::weight_group() const {
  return write_.spec().tied_head ? write_.parameters().embedding() : write_.parameters().head();
}

ParameterRole LanguageHead::weight_role() const {
  return write_.spec().tied_head ? Role::kTokenEmbedding : Role::kHeadWeight;
}

std::int64_t LanguageHead::elements() const { return write_.spec().vocabulary * write_.spec().hidden; }

bool LanguageHead::sums_apart() const { return write_.spec().tied_head && write_.recipe().accumulate > 1 && !frozen(); }

bool LanguageHead::frozen() const { return write_.parameters().at(weight_group()).frozen; }

Access LanguageHead::embedding_gradient_access() const {
  return write_.spec().tied_head && !sums_apart() ? kRw : kW;
}

OpShape LanguageHead::transform_shape() const {
  return {.rows = write_.rows(), .inputs = write_.spec().hidden, .outputs = write_.spec().hidden,
          .variant = static_cast<std::uint8_t>(write_.spec().activation)};
}

TensorId LanguageHead::transform(TensorId x) {
  const std::int64_t hidden = write_.spec().hidden;
  const GroupId head = write_.parameters().head();
  transform_.linear = write_.linear(head, kTransform, x, hidden, hidden, "transform");
  transform_.activated = write_.activation(hidden, "transform activation");
  write_.build().add(OpKind::kActivation, transform_shape(), {{transform_.linear, kR}, {transform_.activated, kW}});
  transform_.normed = write_.norm(head, kTransformNorm, transform_.activated, transform_.statistics, "transform norm");
  return transform_.normed;
}

TensorId LanguageHead::transform_backward(TensorId dy) {
  const std::int64_t hidden = write_.spec().hidden;
  const GroupId head = write_.parameters().head();
  const TensorId d_activated = write_.gradient(hidden, "transform activation gradient");
  write_.norm_backward(head, kTransformNorm, dy, transform_.activated, transform_.statistics, d_activated, kW);
  const TensorId d_linear = write_.gradient(hidden, "transform gradient");
  write_.build().add(OpKind::kActivationBackward, transform_shape(),
                     {{transform_.linear, kR}, {d_activated, kR}, {d_linear, kW}});
  return write_.linear_backward(head, kTransform, d_linear, norm_, hidden, hidden, "transformed gradient");
}

void LanguageHead::forward(OpKind loss_kind, TensorId stream) {
  const ModelSpec& spec = write_.spec();
  const GroupId head = write_.parameters().head();
  input_ = stream;
  norm_ = spec.post_norm ? stream : write_.norm(head, kFinalNorm, stream, statistics_, "final norm");
  const TensorId features = transforms() ? transform(norm_) : norm_;
  logits_ = write_.activation(spec.vocabulary, "logits");
  write_.build().add(OpKind::kLinear, write_.linear_shape(spec.hidden, spec.vocabulary),
                     {{features, kR}, {write_.weight(weight_group(), weight_role()), kR},
                      {write_.weight(head, Role::kHeadBias), kR}, {logits_, kW}});
  write_loss(write_, loss_kind, logits_, spec.vocabulary);
}

TensorId LanguageHead::weight_gradient() {
  if (!sums_apart()) return write_.weight_gradient(weight_group(), weight_role());
  return write_.build().make(Kind::kGradient, elements(), "gradients of the tied head");
}

void LanguageHead::accumulate(TensorId gradient) {
  if (!sums_apart()) return;
  const DType wide = sum_dtype(write_.recipe().precision);
  sum_ = write_.build().make(Kind::kAccumulator, elements(), wide, "accumulator of the tied head");
  write_.build().add(OpKind::kAccumulate, {.rows = elements()}, {{gradient, kR}, {sum_, kRw}});
}

void LanguageHead::join() {
  if (!sums_apart()) return;
  const TensorId joined = write_.build().parameter(Kind::kAccumulator, weight_group(), weight_role());
  const DType wide = sum_dtype(write_.recipe().precision);
  write_.build().add(OpKind::kAccumulate, {.rows = elements()}, {{sum_, kR}, {joined, kRw}}, wide);
}

void LanguageHead::weight_backward() {
  if (frozen()) return;
  const TensorId d_weight = weight_gradient();
  const TensorId d_bias = write_.weight_gradient(write_.parameters().head(), Role::kHeadBias);
  write_.build().add(OpKind::kLinearBackwardWeight, write_.linear_shape(write_.spec().hidden, write_.spec().vocabulary),
                     {{logits_, kR}, {transforms() ? transform_.normed : norm_, kR}, {d_weight, kW}, {d_bias, kW}});
  accumulate(d_weight);
}

TensorId LanguageHead::backward() {
  const ModelSpec& spec = write_.spec();
  const TensorId d_stream = spec.post_norm ? TensorId() : write_.gradient(spec.hidden, "residual gradient");
  const GroupId head = write_.parameters().head();
  const OpShape shape = write_.linear_shape(spec.hidden, spec.vocabulary);
  TensorId d_features = write_.gradient(spec.hidden, "final norm gradient");
  write_.build().add(OpKind::kLinearBackwardInput, shape,
                     {{logits_, kR}, {write_.weight(weight_group(), weight_role()), kR}, {d_features, kW}});
  weight_backward();
  if (transforms()) d_features = transform_backward(d_features);
  if (!spec.post_norm) write_.norm_backward(head, kFinalNorm, d_features, input_, statistics_, d_stream, kW);
  write_.accumulate(head);
  return spec.post_norm ? d_features : d_stream;
}

}  // namespace plimsoll
