#include "core/graph/loss_layer.h"

#include <algorithm>

#include "core/model/loss_tokens.h"

namespace plimsoll {
namespace {

TensorId make_loss(LayerWriter& write) { return write.build().make(TensorKind::kScalar, 1, DType::kFp64, "loss"); }

/// Sizes of a loss over `rows` of so many rows of a micro-batch.
OpShape shape_of(const LayerWriter& write, OpKind kind, const LogitRows& logits, std::int64_t rows, std::int64_t of) {
  return {.rows = rows,
          .inputs = rows < of ? of : 0,
          .outputs = logits.outputs,
          .sequence = std::min(rows, write.sequence()),
          .stride = logits.columns == logits.outputs ? 0 : logits.columns,
          .terms = kind == OpKind::kCrossEntropy ? of * write.recipe().accumulate : of};
}

/// The tokens of the part's rows, and the one behind them; each sequence has one more than it has rows.
TensorId tokens_of(LayerWriter& write, const LossPart& part) {
  const std::int64_t sequence = write.sequence(), own = std::min(part.rows, sequence);
  const std::int64_t first = part.first / sequence * (sequence + 1) + part.first % sequence;
  return write.build().view(write.batch().tokens, first, part.rows / own * (own + 1));
}

}  // namespace

std::vector<LossPart> loss_parts(const ModelSpec& spec, const Recipe& recipe) {
  const std::int64_t sequence = predicted_tokens(spec, recipe), rows = recipe.micro_batch * sequence;
  const std::int64_t most = loss_tokens(spec, recipe);
  if (most == 0) return {LossPart{0, rows}};
  std::vector<LossPart> parts;
  for (std::int64_t first = 0; first < rows; first += parts.back().rows) {
    const std::int64_t end = most < sequence ? (first / sequence + 1) * sequence : rows;
    parts.push_back({first, std::min(most, end - first)});
  }
  return parts;
}

void write_loss(LayerWriter& write, OpKind kind, const LogitRows& of) {
  const bool training = kind == OpKind::kCrossEntropy, labelled = write.batch().labels.valid();
  const TensorId loss = make_loss(write);
  const bool counts = !training && labelled;
  const TensorId right = counts ? write.build().make(TensorKind::kScalar, 1, DType::kFp64, "right answers") : TensorId();
  OpShape shape = shape_of(write, kind, of, write.rows(), write.rows());
  shape.sequence = write.sequence();
  shape.variant = static_cast<std::uint8_t>(labelled ? TargetKind::kLabel : TargetKind::kNextToken);
  const TensorId scale = training ? write.build().loss_scale() : TensorId();
  write.build().add(kind, shape,
                    {{of.logits, training ? Access::kReadWrite : Access::kRead},
                     {labelled ? write.batch().labels : write.batch().tokens, Access::kRead}, {scale, Access::kRead},
                     {loss, Access::kWrite}, {right, Access::kWrite}});
}

void write_loss(LayerWriter& write, OpKind kind, const LogitRows& of, const LossPart& part, TensorId& loss) {
  const bool training = kind == OpKind::kCrossEntropy, first = !loss.valid();
  if (first) loss = make_loss(write);
  OpShape shape = shape_of(write, kind, of, part.rows, write.recipe().micro_batch * write.sequence());
  shape.variant = static_cast<std::uint8_t>(TargetKind::kNextToken);
  const TensorId scale = training ? write.build().loss_scale() : TensorId();
  write.build().add(kind, shape,
                    {{of.logits, training ? Access::kReadWrite : Access::kRead}, {tokens_of(write, part), Access::kRead},
                     {scale, Access::kRead}, {loss, first ? Access::kWrite : Access::kReadWrite}});
}

}  // namespace plimsoll
