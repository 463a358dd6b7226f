#include <utility>
#include <vector>

#include "core/graph/batch_parts.h"
#include "core/graph/class_head.h"
#include "core/graph/drop_unread.h"
#include "core/graph/embedding_layer.h"
#include "core/graph/language_head.h"
#include "core/graph/logits_graph.h"
#include "core/graph/optimizer_update.h"
#include "core/graph/transformer_block.h"

namespace plimsoll {
namespace {

/// The graph's first tensors.
BatchTensors make_batch(GraphBuilder& build) {
  BatchTensors batch;
  for (const BatchPart& part : batch_parts(build.spec(), build.recipe())) {
    const TensorId made = build.make(TensorKind::kTokens, part.elements, part.dtype, std::string(to_text(part.kind)));
    switch (part.kind) {
      case BatchPartKind::kTokens: batch.tokens = made; break;
      case BatchPartKind::kExtents: batch.extents = made; break;
      case BatchPartKind::kLabels: batch.labels = made; break;
      case BatchPartKind::kPatches: batch.patches = made; break;
      case BatchPartKind::kTargets:
        batch.targets = made;
        break;
    }
  }
  return batch;
}

/// What the last stack reads: a decoder behind an encoder, the targets.
LayerWriter writer_of_last(const LayerWriter& first) {
  if (!first.spec().has_encoder_and_decoder()) return first;
  BatchTensors targets;
  targets.tokens = first.batch().targets;
  return {first.build(), targets, target_tokens(first.recipe())};
}

constexpr WeightAndBias kEncoderNorm{ParameterRole::kEncoderNormWeight, ParameterRole::kFinalNormBias};

/// Writes the ops of a transformer in the order in which they run.
class StepWriter {
 public:
  StepWriter(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options)
      : build_(spec, recipe, options),
        first_(build_, make_batch(build_)),
        write_(writer_of_last(first_)),
        language_head_(write_),
        class_head_(write_) {}

  Graph write_to_logits() {
    language_head_.forward_to_logits(blocks(false));
    return build_.finish();
  }

  Graph write(bool evaluation) {
    forward(evaluation ? OpKind::kLoss : OpKind::kCrossEntropy);
    if (evaluation) return build_.finish();
    backward();
    build_.enter(Phase::kOptimizer, -1);
    if (!has_classes()) language_head_.join();
    optimizer_update(build_);
    Graph graph = build_.finish();
    if (graph.recipe.adapter.exists()) drop_unread(graph);  // below the lowest adapter nothing needs a gradient
    return graph;
  }

 private:
  [[nodiscard]] std::int64_t layers() const { return build_.spec().blocks(); }
  [[nodiscard]] bool has_two_stacks() const { return build_.spec().has_encoder_and_decoder(); }
  [[nodiscard]] bool is_of_first(std::int64_t layer) const { return layer < build_.spec().layers; }
  [[nodiscard]] LayerWriter& writer_of(std::int64_t layer) { return is_of_first(layer) ? first_ : write_; }
  [[nodiscard]] SavedBlock& saved(std::int64_t layer) { return saved_[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] bool has_classes() const { return build_.spec().head == HeadKind::kClass; }

  /// From the batch to the stream behind the last block.
  TensorId blocks(bool training) {
    build_.enter(Phase::kForward, -1);
    TensorId stream = embedding_forward(first_, saved_embedding_);
    const TensorId targets = has_two_stacks() ? embedding_forward(write_, saved_embedding_) : TensorId();
    saved_.resize(static_cast<std::size_t>(layers()));
    for (std::int64_t layer = 0; layer < layers(); ++layer) {
      if (layer == build_.spec().layers) stream = pass_on(stream, targets);
      build_.enter(Phase::kForward, layer);
      share_with(layer);
      stream = block_forward(writer_of(layer), build_.parameters().block(layer), stream, training, saved(layer));
    }
    build_.enter(Phase::kForward, -1);
    return stream;
  }

  /// What blocks of a stack have in common: the biases of relative positions, and what the encoder made.
  void share_with(std::int64_t layer) {
    if (!has_two_stacks()) return;
    const std::int64_t encoder = build_.spec().layers;
    SavedBlock& block = saved(layer);
    if (layer != 0 && layer != encoder) {
      block.attention.distance_bias = saved(layer - 1).attention.distance_bias;
      block.attention.d_distance_bias = saved(layer - 1).attention.d_distance_bias;
    }
    block.attention.last_of_stack = layer == encoder - 1 || layer == layers() - 1;
    if (is_of_first(layer)) return;
    block.cross.memory = memory_;
    block.cross.first_in_backward = layer == layers() - 1;
  }

  /// From the encoder's last block to what the decoder's cross attention reads, and to the decoder's first stream.
  TensorId pass_on(TensorId stream, TensorId targets) {
    build_.enter(Phase::kForward, -1);
    encoder_stream_ = stream;
    memory_.made = first_.norm(last_of_encoder(), kEncoderNorm, stream, encoder_statistics_, "encoder output");
    memory_.gradient = first_.gradient(build_.spec().hidden, "encoder output gradient");
    memory_.sequence = first_.sequence();
    return targets;
  }

  /// The gradient of the encoder's stream, once all blocks of the decoder have put their part of its output's.
  TensorId pass_back() {
    build_.enter(Phase::kBackward, -1);
    const TensorId d_stream = first_.gradient(build_.spec().hidden, "residual gradient");
    first_.norm_backward(last_of_encoder(), kEncoderNorm, memory_.gradient, encoder_stream_, encoder_statistics_,
                         d_stream, Access::kWrite);
    return d_stream;
  }

  [[nodiscard]] GroupId last_of_encoder() const { return build_.parameters().block(build_.spec().layers - 1); }

  void forward(OpKind loss) {
    const TensorId stream = blocks(loss == OpKind::kCrossEntropy);
    if (loss == OpKind::kCrossEntropy) balance();
    if (has_classes()) return class_head_.forward(loss, stream);
    language_head_.forward(loss, stream);
  }

  void balance() {
    std::vector<TensorId> statistics;
    for (const SavedBlock& block : saved_) {
      if (block.experts.statistics.valid()) statistics.push_back(block.experts.statistics);
    }
    const TensorId slopes = balance_experts(write_, statistics);
    for (SavedBlock& block : saved_) block.slopes = slopes;
  }

  void backward() {
    build_.enter(Phase::kBackward, -1);
    TensorId d_stream = has_classes() ? class_head_.backward() : language_head_.backward();
    const TensorId d_targets = d_stream;
    for (std::int64_t layer = layers() - 1; layer >= 0; --layer) {
      if (has_two_stacks() && layer + 1 == build_.spec().layers) d_stream = pass_back();
      build_.enter(Phase::kBackward, layer);
      block_backward(writer_of(layer), build_.parameters().block(layer), d_stream, saved(layer));
    }
    build_.enter(Phase::kBackward, -1);
    Access d_table = has_classes() ? Access::kWrite : language_head_.embedding_gradient_access();
    if (has_two_stacks()) token_gradients(write_, d_targets, std::exchange(d_table, Access::kReadWrite));
    embedding_backward(first_, d_stream, d_table, saved_embedding_);
  }

  GraphBuilder build_;
  LayerWriter first_;  ///< of the first stack
  LayerWriter write_;  ///< of the last, which the head follows: the same where there is one
  LanguageHead language_head_;
  ClassHead class_head_;
  SavedEmbedding saved_embedding_;
  std::vector<SavedBlock> saved_;
  EncoderOutput memory_;
  TensorId encoder_stream_, encoder_statistics_;
};

}  // namespace

Graph build_training_graph(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options) {
  return StepWriter(spec, recipe, options).write(options.evaluation);
}

Graph build_logits_graph(const ModelSpec& spec, const Recipe& recipe, std::int64_t workers) {
  return StepWriter(spec, recipe, {.workers = workers, .evaluation = true}).write_to_logits();
}

}  // namespace plimsoll
