#include "core/graph/language_head.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;
constexpr WeightAndBias kFinalNorm{Role::kFinalNormWeight, Role::kFinalNormBias};

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

void LanguageHead::forward(OpKind loss_kind, TensorId stream, TensorId tokens) {
  const ModelSpec& spec = write_.spec();
  const GroupId head = write_.parameters().head();
  input_ = stream;
  norm_ = write_.norm(head, kFinalNorm, stream, statistics_, "final norm");
  logits_ = write_.activation(spec.vocabulary, "logits");
  write_.build().add(OpKind::kLinear, write_.linear_shape(spec.hidden, spec.vocabulary),
                     {{norm_, kR}, {write_.weight(weight_group(), weight_role()), kR},
                      {write_.weight(head, Role::kHeadBias), kR}, {logits_, kW}});
  const TensorId loss = write_.build().make(Kind::kScalar, 1, DType::kFp64, "loss");
  const bool training = loss_kind == OpKind::kCrossEntropy;
  const OpShape shape{.rows = write_.rows(), .outputs = spec.vocabulary, .sequence = write_.recipe().sequence,
                      .terms = training ? write_.rows() * write_.recipe().accumulate : write_.rows()};
  const TensorId scale = training ? write_.build().loss_scale() : TensorId();
  write_.build().add(loss_kind, shape, {{logits_, training ? kRw : kR}, {tokens, kR}, {scale, kR}, {loss, kW}});
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
                     {{logits_, kR}, {norm_, kR}, {d_weight, kW}, {d_bias, kW}});
  accumulate(d_weight);
}

void LanguageHead::backward(TensorId d_stream) {
  const ModelSpec& spec = write_.spec();
  const GroupId head = write_.parameters().head();
  const OpShape shape = write_.linear_shape(spec.hidden, spec.vocabulary);
  const TensorId d_norm = write_.gradient(spec.hidden, "final norm gradient");
  write_.build().add(OpKind::kLinearBackwardInput, shape,
                     {{logits_, kR}, {write_.weight(weight_group(), weight_role()), kR}, {d_norm, kW}});
  weight_backward();
  write_.norm_backward(head, kFinalNorm, d_norm, input_, statistics_, d_stream, kW);
  write_.accumulate(head);
}

}  // namespace plimsoll
