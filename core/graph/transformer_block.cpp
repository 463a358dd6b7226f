#include "core/graph/transformer_block.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr WeightAndBias kNorm1{Role::kNorm1Weight, Role::kNorm1Bias};
constexpr WeightAndBias kNorm2{Role::kNorm2Weight, Role::kNorm2Bias};
/// RMS norms, which have no bias: the role of one is never found.
constexpr WeightAndBias kBehind1{Role::kNorm1BehindWeight, Role::kNorm1Bias};
constexpr WeightAndBias kBehind2{Role::kNorm2BehindWeight, Role::kNorm2Bias};

bool crosses(const SavedBlock& saved) { return saved.cross.memory.made.valid(); }

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

/// What a half adds to the stream: what it made, or a norm of that.
TensorId behind(LayerWriter& write, GroupId g, WeightAndBias of, TensorId made, TensorId& saved, TensorId& statistics,
                const char* name) {
  saved = made;
  return write.spec().norms_behind() ? write.norm(g, of, made, statistics, name) : made;
}

/// The gradient of what a half made from that of what it adds.
TensorId behind_backward(LayerWriter& write, GroupId g, WeightAndBias of, TensorId d_stream, TensorId saved,
                         TensorId statistics) {
  if (!write.spec().norms_behind()) return d_stream;
  const TensorId d_made = write.gradient(write.spec().hidden, "norm behind gradient");
  write.norm_backward(g, of, d_stream, saved, statistics, d_made, Access::kWrite);
  return d_made;
}

/// The gradient of the stream between the halves: that behind the second, and what comes back through it.
TensorId middle_gradient(LayerWriter& write, GroupId g, TensorId d_stream, TensorId d_read, const SavedBlock& saved) {
  if (write.spec().parallel_block) return d_stream;
  if (!write.spec().norms_before()) return write.add(d_stream, d_read, TensorKind::kActivationGradient, "residual 1 gradient");
  write.norm_backward(g, kNorm2, d_read, saved.middle, saved.statistics2, d_stream, Access::kReadWrite);
  return d_stream;
}

/// Where no norm stands before attention: the gradient of the stream before the block, put in `d_stream`'s place.
void put_sum(LayerWriter& write, TensorId d_middle, TensorId d_read, TensorId d_stream) {
  write.build().add(OpKind::kAdd, {.rows = write.rows(), .inputs = write.spec().hidden},
                    {{d_middle, Access::kRead}, {d_read, Access::kRead}, {d_stream, Access::kWrite}});
}

/// What the feed-forward layer reads: of the stream behind attention, or in a parallel block of the stream before it.
TensorId second_norm(LayerWriter& write, GroupId g, TensorId stream, SavedBlock& saved) {
  const ModelSpec& spec = write.spec();
  if (!spec.norms_before()) return saved.middle;
  if (spec.parallel_block && !spec.parallel_norms) return saved.norm1;
  return write.norm(g, kNorm2, spec.parallel_block ? stream : saved.middle, saved.statistics2, "norm 2");
}

}  // namespace

TensorId block_forward(LayerWriter& write, GroupId g, TensorId stream, bool training, SavedBlock& saved) {
  saved.input = stream;
  if (write.spec().post_norm) return post_norm_forward(write, g, stream, saved);
  saved.norm1 = write.spec().norms_before() ? write.norm(g, kNorm1, stream, saved.statistics1, "norm 1") : stream;
  const TensorId made = attention_forward(write, g, saved.norm1, saved.attention);
  const TensorId attended = behind(write, g, kBehind1, made, saved.attended, saved.attended_statistics, "norm behind attention");
  saved.middle = write.add(stream, attended, TensorKind::kActivation, "residual 1");
  if (crosses(saved)) saved.middle = cross_attention_forward(write, g, saved.middle, saved.cross);
  saved.norm2 = second_norm(write, g, stream, saved);
  const TensorId fed = has_experts(write, g) ? experts_forward(write, g, saved.norm2, training, saved.experts)
                                             : feed_forward(write, g, saved.norm2, saved.feed_forward);
  const TensorId added = behind(write, g, kBehind2, fed, saved.fed, saved.fed_statistics, "norm behind feed-forward");
  return write.add(saved.middle, added, TensorKind::kActivation, "residual 2");
}

void block_backward(LayerWriter& write, GroupId g, TensorId d_stream, const SavedBlock& saved) {
  if (write.spec().post_norm) return post_norm_backward(write, g, d_stream, saved);
  const bool parallel = write.spec().parallel_block;
  const TensorId d_fed = behind_backward(write, g, kBehind2, d_stream, saved.fed, saved.fed_statistics);
  const TensorId d_norm2 = has_experts(write, g)
                               ? experts_backward(write, g, d_fed, saved.norm2, saved.slopes, saved.experts)
                               : feed_forward_backward(write, g, d_fed, saved.norm2, saved.feed_forward);
  const TensorId d_middle = middle_gradient(write, g, d_stream, d_norm2, saved);
  if (crosses(saved)) cross_attention_backward(write, g, d_middle, saved.cross);
  const TensorId d_half = behind_backward(write, g, kBehind1, d_middle, saved.attended, saved.attended_statistics);
  const TensorId d_attended = attention_backward(write, g, d_half, saved.norm1, saved.attention);
  const bool shares = parallel && !write.spec().parallel_norms;
  const TensorId d_norm1 =
      shares ? write.add(d_attended, d_norm2, TensorKind::kActivationGradient, "shared norm gradient") : d_attended;
  if (parallel && !shares) write.norm_backward(g, kNorm2, d_norm2, saved.input, saved.statistics2, d_stream, Access::kReadWrite);
  if (write.spec().norms_before()) {
    write.norm_backward(g, kNorm1, d_norm1, saved.input, saved.statistics1, d_stream, Access::kReadWrite);
  } else {
    put_sum(write, d_middle, d_norm1, d_stream);
  }
  write.accumulate(g);
}

}  // namespace plimsoll
