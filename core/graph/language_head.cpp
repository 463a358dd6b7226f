#include "core/graph/language_head.h"

#include <cmath>

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

OpShape LanguageHead::product_shape(const LayerWriter& rows) const {
  const ModelSpec& spec = write_.spec();
  OpShape shape = rows.linear_shape(spec.hidden, columns());
  const bool scaled = spec.has_encoder_and_decoder() && spec.tied_head;
  if (scaled) shape.constant = 1 / std::sqrt(static_cast<double>(spec.hidden));
  return shape;
}

GroupId LanguageHead::weight_group() const {
  return write_.spec().tied_head ? write_.parameters().embedding() : write_.parameters().head();
}

ParameterRole LanguageHead::weight_role() const {
  return write_.spec().tied_head ? Role::kTokenEmbedding : Role::kHeadWeight;
}

std::int64_t LanguageHead::elements() const { return columns() * write_.spec().hidden; }

TensorId LanguageHead::in_columns(TensorKind kind) {
  GraphBuilder& build = write_.build();
  if (columns() == write_.spec().vocabulary) return build.parameter(kind, weight_group(), weight_role());
  return build.view(build.whole_group(kind, weight_group()), 0, elements());
}

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

void LanguageHead::features_of(TensorId stream) {
  input_ = stream;
  norm_ = write_.spec().post_norm ? stream : write_.norm(write_.parameters().head(), kFinalNorm, stream, statistics_, "final norm");
  features_ = transforms() ? transform(norm_) : norm_;
}

TensorId LanguageHead::rows_of(TensorId tensor, const LossPart& part) {
  return in_parts() ? write_.build().view(tensor, part.first * write_.spec().hidden, part.rows * write_.spec().hidden) : tensor;
}

TensorId LanguageHead::logits_of(const LossPart& part) {
  LayerWriter write = write_.of_rows(part.rows);
  const bool live_in_backward = in_parts() && forward_is_over_;
  const TensorId logits = live_in_backward ? write.gradient(columns(), "logits") : write.activation(columns(), "logits");
  const TensorId features = rows_of(features_, part);
  write_.build().add(OpKind::kLinear, product_shape(write),
                     {{features, kR},
                      {in_columns(Kind::kParameter), kR},
                      {write_.weight(write_.parameters().head(), Role::kHeadBias), kR},
                      {logits, kW}});
  return logits;
}

TensorId LanguageHead::logits_and_loss(OpKind loss, const LossPart& part) {
  const TensorId logits = logits_of(part);
  LayerWriter write = write_.of_rows(part.rows);
  const LogitRows rows{logits, write_.spec().vocabulary, columns()};
  if (in_parts()) {
    write_loss(write, loss, rows, part, loss_);
  } else {
    write_loss(write, loss, rows);
  }
  return logits;
}

void LanguageHead::forward_to_logits(TensorId stream) {
  features_of(stream);
  parts_ = {LossPart{0, write_.rows()}};
  logits_of(parts_.front());
}

void LanguageHead::forward(OpKind loss, TensorId stream) {
  features_of(stream);
  parts_ = loss_parts(write_.spec(), write_.recipe());
  if (in_parts() && loss == OpKind::kCrossEntropy) return;  // backward computes each part's logits when it needs them
  for (const LossPart& part : parts_) logits_ = logits_and_loss(loss, part);
}

TensorId LanguageHead::weight_gradient() {
  if (!sums_apart()) return in_columns(Kind::kGradient);
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
  const TensorId joined = in_columns(Kind::kAccumulator);
  const DType wide = sum_dtype(write_.recipe().precision);
  write_.build().add(OpKind::kAccumulate, {.rows = elements()}, {{sum_, kR}, {joined, kRw}}, wide);
}

void LanguageHead::weight_backward(const LossPart& part, TensorId d_logits) {
  if (frozen()) return;
  const bool first = !d_weight_.valid();
  if (first) {
    d_weight_ = weight_gradient();
    d_bias_ = write_.weight_gradient(write_.parameters().head(), Role::kHeadBias);
  }
  LayerWriter write = write_.of_rows(part.rows);
  write_.build().add(OpKind::kLinearBackwardWeight, product_shape(write),
                     {{d_logits, kR}, {rows_of(features_, part), kR}, {d_weight_, first ? kW : kRw}, {d_bias_, kW}});
}

void LanguageHead::backward_of(const LossPart& part, TensorId d_logits, TensorId d_features) {
  LayerWriter write = write_.of_rows(part.rows);
  const OpShape shape = product_shape(write);
  const TensorId weight = in_columns(Kind::kParameter);
  write_.build().add(OpKind::kLinearBackwardInput, shape, {{d_logits, kR}, {weight, kR}, {rows_of(d_features, part), kW}});
  weight_backward(part, d_logits);
}

TensorId LanguageHead::backward() {
  const ModelSpec& spec = write_.spec();
  const TensorId d_stream = spec.post_norm ? TensorId() : write_.gradient(spec.hidden, "residual gradient");
  const GroupId head = write_.parameters().head();
  TensorId d_features = write_.gradient(spec.hidden, "final norm gradient");
  forward_is_over_ = true;
  for (const LossPart& part : parts_) {
    backward_of(part, in_parts() ? logits_and_loss(OpKind::kCrossEntropy, part) : logits_, d_features);
  }
  if (!frozen()) accumulate(d_weight_);
  if (transforms()) d_features = transform_backward(d_features);
  if (!spec.post_norm) write_.norm_backward(head, kFinalNorm, d_features, input_, statistics_, d_stream, kW);
  write_.accumulate(head);
  return spec.post_norm ? d_features : d_stream;
}

}  // namespace plimsoll
