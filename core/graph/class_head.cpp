#include "core/graph/class_head.h"

#include "core/graph/loss_layer.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr WeightAndBias kFinalNorm{Role::kFinalNormWeight, Role::kFinalNormBias};
constexpr WeightAndBias kPooler{Role::kPoolerWeight, Role::kPoolerBias};
constexpr WeightAndBias kClassifier{Role::kHeadWeight, Role::kHeadBias};

}  // namespace

OpShape ClassHead::first_token_shape() const {
  return {.rows = firsts_.rows(), .inputs = write_.spec().hidden, .sequence = write_.recipe().sequence};
}

OpShape ClassHead::tanh_shape() const {
  return {.rows = firsts_.rows(), .inputs = write_.spec().hidden, .outputs = write_.spec().hidden,
          .variant = static_cast<std::uint8_t>(ActivationKind::kTanh)};
}

TensorId ClassHead::pool(TensorId x) {
  const std::int64_t hidden = write_.spec().hidden;
  pooled_ = firsts_.linear(write_.parameters().head(), kPooler, x, hidden, hidden, "pooler");
  tanh_ = firsts_.activation(hidden, "pooler activation");
  write_.build().add(OpKind::kActivation, tanh_shape(), {{pooled_, kR}, {tanh_, kW}});
  return tanh_;
}

TensorId ClassHead::pool_backward(TensorId dy) {
  const std::int64_t hidden = write_.spec().hidden;
  const TensorId d_pooled = firsts_.gradient(hidden, "pooler gradient");
  write_.build().add(OpKind::kActivationBackward, tanh_shape(), {{pooled_, kR}, {dy, kR}, {d_pooled, kW}});
  return firsts_.linear_backward(write_.parameters().head(), kPooler, d_pooled, norm_, hidden, hidden, "pooled gradient");
}

void ClassHead::forward(OpKind loss, TensorId stream) {
  const ModelSpec& spec = write_.spec();
  const GroupId head = write_.parameters().head();
  first_ = firsts_.activation(spec.hidden, "first tokens");
  write_.build().add(OpKind::kFirstToken, first_token_shape(), {{stream, kR}, {first_, kW}});
  norm_ = spec.post_norm ? first_ : firsts_.norm(head, kFinalNorm, first_, statistics_, "final norm");
  const TensorId features = spec.pooler ? pool(norm_) : norm_;
  logits_ = firsts_.linear(head, kClassifier, features, spec.hidden, spec.classes, "logits");
  write_loss(firsts_, loss, {logits_, spec.classes, spec.classes});
}

TensorId ClassHead::backward() {
  const ModelSpec& spec = write_.spec();
  const GroupId head = write_.parameters().head();
  TensorId d = firsts_.linear_backward(head, kClassifier, logits_, spec.pooler ? tanh_ : norm_, spec.hidden, spec.classes,
                                       "class features gradient");
  if (spec.pooler) d = pool_backward(d);
  if (!spec.post_norm) {
    const TensorId d_first = firsts_.gradient(spec.hidden, "first tokens gradient");
    firsts_.norm_backward(head, kFinalNorm, d, first_, statistics_, d_first, kW);
    d = d_first;
  }
  const TensorId d_stream = write_.gradient(spec.hidden, "residual gradient");
  write_.build().add(OpKind::kFirstTokenBackward, first_token_shape(), {{d, kR}, {d_stream, kW}});
  write_.accumulate(head);
  return d_stream;
}

}  // namespace plimsoll
