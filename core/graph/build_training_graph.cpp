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
    }
  }
  return batch;
}

/// Writes the ops of a transformer in the order in which they run.
class StepWriter {
 public:
  StepWriter(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options)
      : build_(spec, recipe, options), write_(build_, make_batch(build_)), language_head_(write_), class_head_(write_) {}

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
  [[nodiscard]] std::int64_t layers() const { return build_.spec().layers; }
  [[nodiscard]] bool has_classes() const { return build_.spec().head == HeadKind::kClass; }

  /// From the batch to the stream behind the last block.
  TensorId blocks(bool training) {
    build_.enter(Phase::kForward, -1);
    TensorId stream = embedding_forward(write_, saved_embedding_);
    saved_.resize(static_cast<std::size_t>(layers()));
    for (std::int64_t layer = 0; layer < layers(); ++layer) {
      build_.enter(Phase::kForward, layer);
      stream = block_forward(write_, build_.parameters().block(layer), stream, training,
                             saved_[static_cast<std::size_t>(layer)]);
    }
    build_.enter(Phase::kForward, -1);
    return stream;
  }

  void forward(OpKind loss) {
    const TensorId stream = blocks(loss == OpKind::kCrossEntropy);
    if (loss == OpKind::kCrossEntropy) balance();
    if (has_classes()) return class_head_.forward(loss, stream);
    language_head_.forward(loss, stream);
  }

  void balance() {
    std::vector<TensorId> statistics;
    for (const SavedBlock& saved : saved_) {
      if (saved.experts.statistics.valid()) statistics.push_back(saved.experts.statistics);
    }
    const TensorId slopes = balance_experts(write_, statistics);
    for (SavedBlock& saved : saved_) saved.slopes = slopes;
  }

  void backward() {
    build_.enter(Phase::kBackward, -1);
    const TensorId d_stream = has_classes() ? class_head_.backward() : language_head_.backward();
    for (std::int64_t layer = layers() - 1; layer >= 0; --layer) {
      build_.enter(Phase::kBackward, layer);
      block_backward(write_, build_.parameters().block(layer), d_stream, saved_[static_cast<std::size_t>(layer)]);
    }
    build_.enter(Phase::kBackward, -1);
    const Access d_table = has_classes() ? Access::kWrite : language_head_.embedding_gradient_access();
    embedding_backward(write_, d_stream, d_table, saved_embedding_);
  }

  GraphBuilder build_;
  LayerWriter write_;
  LanguageHead language_head_;
  ClassHead class_head_;
  SavedEmbedding saved_embedding_;
  std::vector<SavedBlock> saved_;
};

}  // namespace

Graph build_training_graph(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options) {
  return StepWriter(spec, recipe, options).write(options.evaluation);
}

Graph build_logits_graph(const ModelSpec& spec, const Recipe& recipe, std::int64_t workers) {
  return StepWriter(spec, recipe, {.workers = workers, .evaluation = true}).write_to_logits();
}

}  // namespace plimsoll
