#include "core/graph/loss_layer.h"

namespace plimsoll {

void write_loss(LayerWriter& write, OpKind kind, TensorId logits, std::int64_t outputs) {
  const bool training = kind == OpKind::kCrossEntropy, labelled = write.batch().labels.valid();
  const TensorId loss = write.build().make(TensorKind::kScalar, 1, DType::kFp64, "loss");
  const bool counts = !training && labelled;
  const TensorId right = counts ? write.build().make(TensorKind::kScalar, 1, DType::kFp64, "right answers") : TensorId();
  const OpShape shape{.rows = write.rows(), .outputs = outputs, .sequence = write.recipe().sequence,
                      .terms = training ? write.rows() * write.recipe().accumulate : write.rows(),
                      .variant = static_cast<std::uint8_t>(labelled ? TargetKind::kLabel : TargetKind::kNextToken)};
  const TensorId scale = training ? write.build().loss_scale() : TensorId();
  write.build().add(kind, shape,
                    {{logits, training ? Access::kReadWrite : Access::kRead},
                     {labelled ? write.batch().labels : write.batch().tokens, Access::kRead}, {scale, Access::kRead},
                     {loss, Access::kWrite}, {right, Access::kWrite}});
}

}  // namespace plimsoll
