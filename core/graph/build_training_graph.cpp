#include <vector>

#include "core/graph/drop_unread.h"
#include "core/graph/language_head.h"
#include "core/graph/optimizer_update.h"
#include "core/graph/transformer_block.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;

/// Writes the ops of a decoder-only transformer in the order in which they run.
class StepWriter {
 public:
  StepWriter(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options)
      : build_(spec, recipe, options), write_(build_), head_(write_) {}

  Graph write(bool evaluation) {
    const Recipe& recipe = build_.recipe();
    tokens_ = build_.make(Kind::kTokens, recipe.micro_batch * (recipe.sequence + 1), DType::kInt32, "tokens");
    forward(evaluation ? OpKind::kLoss : OpKind::kCrossEntropy);
    if (evaluation) return build_.finish();
    backward();
    build_.enter(Phase::kOptimizer, -1);
    head_.join();
    optimizer_update(build_);
    Graph graph = build_.finish();
    if (graph.recipe.adapter.exists()) drop_unread(graph);  // below the lowest adapter nothing needs a gradient
    return graph;
  }

 private:
  [[nodiscard]] std::int64_t layers() const { return build_.spec().layers; }

  [[nodiscard]] OpShape embedding_shape() const {
    const ModelSpec& spec = build_.spec();
    return {.rows = build_.tokens(), .inputs = spec.hidden, .outputs = spec.vocabulary, .sequence = build_.recipe().sequence,
            .positions = spec.positions == PositionKind::kLearned ? spec.max_positions : 0,
            .constant = spec.embedding_scale == 1 ? 0 : spec.embedding_scale};
  }

  TensorId embed() {
    const GroupId embedding = build_.parameters().embedding();
    const TensorId stream = write_.activation(build_.spec().hidden, "embedding output");
    build_.add(OpKind::kEmbedding, embedding_shape(),
               {{tokens_, kR}, {write_.weight(embedding, Role::kTokenEmbedding), kR},
                {write_.weight(embedding, Role::kPositionEmbedding), kR}, {stream, kW}});
    return stream;
  }

  void embed_backward(TensorId d_stream) {
    const GroupId embedding = build_.parameters().embedding();
    if (build_.parameters().at(embedding).frozen) return;
    build_.add(OpKind::kEmbeddingBackward, embedding_shape(),
               {{tokens_, kR}, {d_stream, kR},
                {write_.weight_gradient(embedding, Role::kTokenEmbedding), head_.embedding_gradient_access()},
                {write_.weight_gradient(embedding, Role::kPositionEmbedding), kW}});
    write_.accumulate(embedding);
  }

  void forward(OpKind loss) {
    build_.enter(Phase::kForward, -1);
    TensorId stream = embed();
    saved_.resize(static_cast<std::size_t>(layers()));
    for (std::int64_t layer = 0; layer < layers(); ++layer) {
      build_.enter(Phase::kForward, layer);
      stream = block_forward(write_, build_.parameters().block(layer), stream, loss == OpKind::kCrossEntropy,
                             saved_[static_cast<std::size_t>(layer)]);
    }
    build_.enter(Phase::kForward, -1);
    if (loss == OpKind::kCrossEntropy) balance();
    head_.forward(loss, stream, tokens_);
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
    const TensorId d_stream = write_.gradient(build_.spec().hidden, "residual gradient");
    head_.backward(d_stream);
    for (std::int64_t layer = layers() - 1; layer >= 0; --layer) {
      build_.enter(Phase::kBackward, layer);
      block_backward(write_, build_.parameters().block(layer), d_stream, saved_[static_cast<std::size_t>(layer)]);
    }
    build_.enter(Phase::kBackward, -1);
    embed_backward(d_stream);
  }

  GraphBuilder build_;
  LayerWriter write_;
  LanguageHead head_;
  TensorId tokens_;
  std::vector<SavedBlock> saved_;
};

}  // namespace

Graph build_training_graph(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options) {
  return StepWriter(spec, recipe, options).write(options.evaluation);
}

}  // namespace plimsoll
