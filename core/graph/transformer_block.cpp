#include "core/graph/transformer_block.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr WeightAndBias kNorm1{Role::kNorm1Weight, Role::kNorm1Bias};
constexpr WeightAndBias kNorm2{Role::kNorm2Weight, Role::kNorm2Bias};

bool has_experts(const LayerWriter& write, GroupId g) { return write.spec().has_experts(write.parameters().at(g).block); }

TensorId post_norm_forward(LayerWriter& write, GroupId g, TensorId stream, SavedBlock& saved) {
  const TensorId attended = attention_forward(write, g, stream, saved.attention);
  saved.middle = write.add(stream, attended, TensorKind::kActivation, "residual 1");
  saved.norm1 = write.norm(g, kNorm1, saved.middle, saved.statistics1, "norm 1");
  const TensorId fed = feed_forward(write, g, saved.norm1, saved.feed_forward);
  saved.end = write.add(saved.norm1, fed, TensorKind::kActivation, "residual 2");
  saved.norm2 = write.norm(g, kNorm2, saved.end, saved.statistics2, "norm 2");
  return saved.norm2;
}

void post_norm_backward(LayerWriter& write, GroupId g, TensorId d_stream, const SavedBlock& saved) {
  const std::int64_t hidden = write.spec().hidden;
  const TensorId d_end = write.gradient(hidden, "residual 2 gradient");
  write.norm_backward(g, kNorm2, d_stream, saved.end, saved.statistics2, d_end, Access::kWrite);
  const TensorId d_fed = feed_forward_backward(write, g, d_end, saved.norm1, saved.feed_forward);
  const TensorId d_norm1 = write.add(d_end, d_fed, TensorKind::kActivationGradient, "shared norm gradient");
  const TensorId d_middle = write.gradient(hidden, "residual 1 gradient");
  write.norm_backward(g, kNorm1, d_norm1, saved.middle, saved.statistics1, d_middle, Access::kWrite);
  const TensorId d_attended = attention_backward(write, g, d_middle, saved.input, saved.attention);
  write.build().add(OpKind::kAdd, {.rows = write.rows(), .inputs = hidden},
                    {{d_middle, Access::kRead}, {d_attended, Access::kRead}, {d_stream, Access::kWrite}});
  write.accumulate(g);
}

}  // namespace

namespace {

/// What the feed-forward layer reads: of the stream behind attention, or in a parallel block of the stream before it.
TensorId second_norm(LayerWriter& write, GroupId g, TensorId stream, SavedBlock& saved) {
  const ModelSpec& spec = write.spec();
  if (spec.parallel_block && !spec.parallel_norms) return saved.norm1;
  return write.norm(g, kNorm2, spec.parallel_block ? stream : saved.middle, saved.statistics2, "norm 2");
}

}  // namespace

TensorId block_forward(LayerWriter& write, GroupId g, TensorId stream, bool training, SavedBlock& saved) {
  saved.input = stream;
  if (write.spec().post_norm) return post_norm_forward(write, g, stream, saved);
  saved.norm1 = write.norm(g, kNorm1, stream, saved.statistics1, "norm 1");
  const TensorId attended = attention_forward(write, g, saved.norm1, saved.attention);
  saved.middle = write.add(stream, attended, TensorKind::kActivation, "residual 1");
  saved.norm2 = second_norm(write, g, stream, saved);
  const TensorId fed = has_experts(write, g) ? experts_forward(write, g, saved.norm2, training, saved.experts)
                                             : feed_forward(write, g, saved.norm2, saved.feed_forward);
  return write.add(saved.middle, fed, TensorKind::kActivation, "residual 2");
}

void block_backward(LayerWriter& write, GroupId g, TensorId d_stream, const SavedBlock& saved) {
  if (write.spec().post_norm) return post_norm_backward(write, g, d_stream, saved);
  const bool parallel = write.spec().parallel_block;
  const TensorId d_norm2 = has_experts(write, g)
                               ? experts_backward(write, g, d_stream, saved.norm2, saved.slopes, saved.experts)
                               : feed_forward_backward(write, g, d_stream, saved.norm2, saved.feed_forward);
  if (!parallel) {
    write.norm_backward(g, kNorm2, d_norm2, saved.middle, saved.statistics2, d_stream, Access::kReadWrite);
  }
  const TensorId d_attended = attention_backward(write, g, d_stream, saved.norm1, saved.attention);
  const bool shares = parallel && !write.spec().parallel_norms;
  const TensorId d_norm1 =
      shares ? write.add(d_attended, d_norm2, TensorKind::kActivationGradient, "shared norm gradient") : d_attended;
  if (parallel && !shares) write.norm_backward(g, kNorm2, d_norm2, saved.input, saved.statistics2, d_stream, Access::kReadWrite);
  write.norm_backward(g, kNorm1, d_norm1, saved.input, saved.statistics1, d_stream, Access::kReadWrite);
  write.accumulate(g);
}

}  // namespace plimsoll
