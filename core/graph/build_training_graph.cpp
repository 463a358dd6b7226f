#include <vector>

#include "core/graph/graph_builder.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

/// What the forward pass of one block leaves for its backward pass.
struct SavedBlock {
  TensorId input, norm1, statistics1, raw_qkv, head_statistics, qkv, attention, log_sum_exp, middle, norm2, statistics2, ffn_in,
      ffn_act;
};

/// Writes the ops of a decoder-only transformer in the order in which they run.
class StepWriter {
 public:
  StepWriter(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options)
      : build_(spec, recipe, options), s_(build_.spec()), n_(build_.tokens()) {}

  Graph write(bool evaluation) {
    tokens_ = build_.make(Kind::kTokens, build_.recipe().micro_batch * (build_.recipe().sequence + 1), DType::kInt32, "tokens");
    forward();
    if (evaluation) {
      head_forward(OpKind::kLoss);
      return build_.finish();
    }
    head_forward(OpKind::kCrossEntropy);
    backward();
    optimizer();
    return build_.finish();
  }

 private:
  [[nodiscard]] OpShape linear(std::int64_t inputs, std::int64_t outputs) const {
    return {.rows = n_, .inputs = inputs, .outputs = outputs};
  }
  [[nodiscard]] OpShape norm_shape() const {
    return {.rows = n_, .inputs = s_.hidden, .variant = static_cast<std::uint8_t>(s_.norm), .constant = s_.norm_epsilon};
  }
  [[nodiscard]] OpShape attention_shape() const {
    return {.rows = n_, .sequence = build_.recipe().sequence, .heads = s_.heads, .kv_heads = s_.kv_heads, .head_dim = s_.head_dim};
  }
  [[nodiscard]] OpShape rope_shape() const {
    OpShape shape = attention_shape();
    shape.inputs = s_.rotary_width() == s_.head_dim ? 0 : s_.rotary_width();
    shape.constant = s_.rope_theta;
    return shape;
  }
  [[nodiscard]] OpShape head_norm_shape() const {
    return {.rows = n_, .heads = s_.heads, .kv_heads = s_.kv_heads, .head_dim = s_.head_dim,
            .variant = static_cast<std::uint8_t>(s_.norm), .constant = s_.norm_epsilon};
  }
  [[nodiscard]] OpShape activation_shape() const {
    return {.rows = n_, .inputs = s_.ffn_in_width(), .outputs = s_.ffn, .variant = static_cast<std::uint8_t>(s_.activation)};
  }
  [[nodiscard]] OpShape embedding_shape() const {
    return {.rows = n_, .inputs = s_.hidden, .outputs = s_.vocabulary, .sequence = build_.recipe().sequence,
            .positions = s_.positions == PositionKind::kLearned ? s_.max_positions : 0,
            .constant = s_.embedding_scale == 1 ? 0 : s_.embedding_scale};
  }

  TensorId activation(std::int64_t width, const char* name) { return build_.make(Kind::kActivation, n_ * width, name); }
  TensorId gradient(std::int64_t width, const char* name) { return build_.make(Kind::kActivationGradient, n_ * width, name); }
  TensorId statistics(std::int64_t per_row, const char* name) {
    return build_.make(Kind::kActivation, n_ * per_row, state_dtype(build_.recipe().precision), name);
  }
  TensorId weight(GroupId group, Role role) { return build_.parameter(Kind::kParameter, group, role); }
  TensorId weight_gradient(GroupId group, Role role) { return build_.parameter(Kind::kGradient, group, role); }

  TensorId norm(GroupId group, Role w, Role b, TensorId x, TensorId& saved_statistics, const char* name) {
    const TensorId y = activation(s_.hidden, name);
    saved_statistics = statistics(2, "norm statistics");
    build_.add(OpKind::kNorm, norm_shape(),
               {{x, kR}, {weight(group, w), kR}, {weight(group, b), kR}, {y, kW}, {saved_statistics, kW}});
    return y;
  }

  TensorId project(GroupId group, Role w, Role b, TensorId x, std::int64_t inputs, std::int64_t outputs, const char* name) {
    const TensorId y = activation(outputs, name);
    build_.add(OpKind::kLinear, linear(inputs, outputs), {{x, kR}, {weight(group, w), kR}, {weight(group, b), kR}, {y, kW}});
    return y;
  }

  TensorId add(TensorId a, TensorId b, const char* name) {
    const TensorId y = activation(s_.hidden, name);
    build_.add(OpKind::kAdd, {.rows = n_, .inputs = s_.hidden}, {{a, kR}, {b, kR}, {y, kW}});
    return y;
  }

  void forward() {
    const GroupId embedding = build_.parameters().embedding();
    build_.enter(Phase::kForward, -1);
    stream_ = activation(s_.hidden, "embedding output");
    build_.add(OpKind::kEmbedding, embedding_shape(),
               {{tokens_, kR}, {weight(embedding, Role::kTokenEmbedding), kR}, {weight(embedding, Role::kPositionEmbedding), kR},
                {stream_, kW}});
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      build_.enter(Phase::kForward, layer);
      block_forward(build_.parameters().block(layer));
    }
  }

  /// The heads' norms have a tensor of their own: backward needs what went in.
  TensorId normalize_heads(GroupId g, SavedBlock& saved) {
    const TensorId y = activation(s_.qkv_width(), "normalized qkv");
    saved.head_statistics = statistics(s_.heads + s_.kv_heads, "head statistics");
    build_.add(OpKind::kHeadNorm, head_norm_shape(),
               {{saved.raw_qkv, kR}, {weight(g, Role::kQueryNormWeight), kR}, {weight(g, Role::kKeyNormWeight), kR}, {y, kW},
                {saved.head_statistics, kW}});
    return y;
  }

  /// From the first norm to what attention adds to the stream.
  TensorId attention_forward(GroupId g, SavedBlock& saved) {
    saved.raw_qkv = project(g, Role::kQkvWeight, Role::kQkvBias, saved.norm1, s_.hidden, s_.qkv_width(), "qkv");
    saved.qkv = s_.qk_norm ? normalize_heads(g, saved) : saved.raw_qkv;
    if (s_.positions == PositionKind::kRope) build_.add(OpKind::kRope, rope_shape(), {{saved.qkv, kRw}});
    saved.attention = activation(s_.attention_width(), "attention");
    saved.log_sum_exp = statistics(s_.heads, "log-sum-exp");
    build_.add_with_workspace(OpKind::kAttention, attention_shape(),
                              {{saved.qkv, kR}, {saved.attention, kW}, {saved.log_sum_exp, kW}});
    return project(g, Role::kProjectionWeight, Role::kProjectionBias, saved.attention, s_.attention_width(), s_.hidden,
                   "attention projection");
  }

  /// From the norm that the feed-forward layer reads to what it adds to the stream.
  TensorId ffn_forward(GroupId g, SavedBlock& saved) {
    saved.ffn_in = project(g, Role::kFfnInWeight, Role::kFfnInBias, saved.norm2, s_.hidden, s_.ffn_in_width(), "ffn in");
    saved.ffn_act = activation(s_.ffn, "ffn activation");
    build_.add(OpKind::kActivation, activation_shape(), {{saved.ffn_in, kR}, {saved.ffn_act, kW}});
    return project(g, Role::kFfnOutWeight, Role::kFfnOutBias, saved.ffn_act, s_.ffn, s_.hidden, "ffn out");
  }

  void block_forward(GroupId g) {
    SavedBlock saved{.input = stream_};
    saved.norm1 = norm(g, Role::kNorm1Weight, Role::kNorm1Bias, stream_, saved.statistics1, "norm 1");
    saved.middle = add(stream_, attention_forward(g, saved), "residual 1");
    saved.norm2 = s_.parallel_block
                      ? saved.norm1
                      : norm(g, Role::kNorm2Weight, Role::kNorm2Bias, saved.middle, saved.statistics2, "norm 2");
    stream_ = add(saved.middle, ffn_forward(g, saved), "residual 2");
    saved_.push_back(saved);
  }

  [[nodiscard]] GroupId head_weight_group() const {
    return s_.tied_head ? build_.parameters().embedding() : build_.parameters().head();
  }
  [[nodiscard]] Role head_weight_role() const { return s_.tied_head ? Role::kTokenEmbedding : Role::kHeadWeight; }

  void head_forward(OpKind loss_kind) {
    build_.enter(Phase::kForward, -1);
    final_input_ = stream_;
    final_norm_ = norm(build_.parameters().head(), Role::kFinalNormWeight, Role::kFinalNormBias, stream_, final_statistics_,
                       "final norm");
    logits_ = activation(s_.vocabulary, "logits");
    build_.add(OpKind::kLinear, linear(s_.hidden, s_.vocabulary),
               {{final_norm_, kR}, {weight(head_weight_group(), head_weight_role()), kR},
                {weight(build_.parameters().head(), Role::kHeadBias), kR}, {logits_, kW}});
    const TensorId loss = build_.make(Kind::kScalar, 1, DType::kFp64, "loss");
    const bool training = loss_kind == OpKind::kCrossEntropy;
    const OpShape shape{.rows = n_, .outputs = s_.vocabulary, .sequence = build_.recipe().sequence,
                        .terms = training ? n_ * build_.recipe().accumulate : n_};
    build_.add(loss_kind, shape, {{logits_, training ? kRw : kR}, {tokens_, kR}, {loss, kW}});
  }

  /// dx of a linear layer, and the gradient of its weight and bias.
  TensorId project_backward(GroupId g, Role w, Role b, TensorId dy, TensorId x, std::int64_t inputs, std::int64_t outputs,
                            const char* name) {
    const TensorId dx = gradient(inputs, name);
    build_.add(OpKind::kLinearBackwardInput, linear(inputs, outputs), {{dy, kR}, {weight(g, w), kR}, {dx, kW}});
    build_.add(OpKind::kLinearBackwardWeight, linear(inputs, outputs),
               {{dy, kR}, {x, kR}, {weight_gradient(g, w), kW}, {weight_gradient(g, b), kW}});
    return dx;
  }

  /// Adds the norm's input gradient to the residual gradient (`access` kRw), or starts it (kW).
  void norm_backward(GroupId g, Role w, Role b, TensorId dy, TensorId x, TensorId saved_statistics, Access access) {
    build_.add_with_workspace(OpKind::kNormBackward, norm_shape(),
                              {{dy, kR}, {x, kR}, {weight(g, w), kR}, {saved_statistics, kR}, {residual_gradient_, access},
                               {weight_gradient(g, w), kW}, {weight_gradient(g, b), kW}});
  }

  void accumulate(GroupId g) {
    if (build_.recipe().accumulate == 1) return;
    build_.add(OpKind::kAccumulate, {.rows = build_.parameters().at(g).elements},
               {{build_.whole_group(Kind::kGradient, g), kR}, {build_.whole_group(Kind::kAccumulator, g), kRw}});
  }

  /// The head and the embedding each have their part in a tied matrix's gradient, at both ends of the backward pass. Over
  /// several micro-batches each part is summed alone: a head's part need not wait for its own micro-batch's embedding, and
  /// the sum is the same when all heads come before all embeddings.
  [[nodiscard]] bool sums_head_apart() const { return s_.tied_head && build_.recipe().accumulate > 1; }
  [[nodiscard]] std::int64_t head_elements() const { return s_.vocabulary * s_.hidden; }

  TensorId head_weight_gradient() {
    if (!sums_head_apart()) return weight_gradient(head_weight_group(), head_weight_role());
    return build_.make(Kind::kGradient, head_elements(), "gradients of the tied head");
  }

  void accumulate_head(TensorId head_gradient) {
    if (!sums_head_apart()) return;
    const DType state = state_dtype(build_.recipe().precision);
    head_sum_ = build_.make(Kind::kAccumulator, head_elements(), state, "accumulator of the tied head");
    build_.add(OpKind::kAccumulate, {.rows = head_elements()}, {{head_gradient, kR}, {head_sum_, kRw}});
  }

  /// Once a step: what the head's part came to joins what the embedding's came to.
  void join_head() {
    if (!sums_head_apart()) return;
    const TensorId sum = build_.parameter(Kind::kAccumulator, head_weight_group(), head_weight_role());
    const DType state = state_dtype(build_.recipe().precision);
    build_.add(OpKind::kAccumulate, {.rows = head_elements()}, {{head_sum_, kR}, {sum, kRw}}, state);
  }

  void head_backward() {
    const GroupId head = build_.parameters().head();
    residual_gradient_ = gradient(s_.hidden, "residual gradient");
    const TensorId d_norm = gradient(s_.hidden, "final norm gradient");
    const TensorId head_gradient = head_weight_gradient();
    build_.add(OpKind::kLinearBackwardInput, linear(s_.hidden, s_.vocabulary),
               {{logits_, kR}, {weight(head_weight_group(), head_weight_role()), kR}, {d_norm, kW}});
    build_.add(OpKind::kLinearBackwardWeight, linear(s_.hidden, s_.vocabulary),
               {{logits_, kR}, {final_norm_, kR}, {head_gradient, kW}, {weight_gradient(head, Role::kHeadBias), kW}});
    accumulate_head(head_gradient);
    norm_backward(head, Role::kFinalNormWeight, Role::kFinalNormBias, d_norm, final_input_, final_statistics_, kW);
    accumulate(head);
  }

  void backward() {
    build_.enter(Phase::kBackward, -1);
    head_backward();
    for (std::int64_t layer = s_.layers - 1; layer >= 0; --layer) {
      build_.enter(Phase::kBackward, layer);
      block_backward(build_.parameters().block(layer), saved_[static_cast<std::size_t>(layer)]);
    }
    build_.enter(Phase::kBackward, -1);
    const GroupId embedding = build_.parameters().embedding();
    build_.add(OpKind::kEmbeddingBackward, embedding_shape(),
               {{tokens_, kR}, {residual_gradient_, kR},
                {weight_gradient(embedding, Role::kTokenEmbedding), s_.tied_head && !sums_head_apart() ? kRw : kW},
                {weight_gradient(embedding, Role::kPositionEmbedding), kW}});
    accumulate(embedding);
  }

  /// Gradient of the norm that the feed-forward layer read.
  TensorId ffn_backward(GroupId g, const SavedBlock& saved) {
    const TensorId d_act = project_backward(g, Role::kFfnOutWeight, Role::kFfnOutBias, residual_gradient_, saved.ffn_act, s_.ffn,
                                            s_.hidden, "ffn activation gradient");
    const TensorId d_ffn_in = gradient(s_.ffn_in_width(), "ffn in gradient");
    build_.add(OpKind::kActivationBackward, activation_shape(), {{saved.ffn_in, kR}, {d_act, kR}, {d_ffn_in, kW}});
    return project_backward(g, Role::kFfnInWeight, Role::kFfnInBias, d_ffn_in, saved.norm2, s_.hidden, s_.ffn_in_width(),
                            "norm 2 gradient");
  }

  /// Gradient of the norm that attention read.
  TensorId attention_backward(GroupId g, const SavedBlock& saved) {
    const TensorId d_attention = project_backward(g, Role::kProjectionWeight, Role::kProjectionBias, residual_gradient_,
                                                  saved.attention, s_.attention_width(), s_.hidden, "attention gradient");
    const TensorId d_qkv = gradient(s_.qkv_width(), "qkv gradient");
    build_.add_with_workspace(OpKind::kAttentionBackward, attention_shape(),
                              {{saved.qkv, kR}, {saved.attention, kR}, {saved.log_sum_exp, kR}, {d_attention, kR}, {d_qkv, kW}});
    if (s_.positions == PositionKind::kRope) build_.add(OpKind::kRopeBackward, rope_shape(), {{d_qkv, kRw}});
    if (s_.qk_norm) {
      build_.add_with_workspace(OpKind::kHeadNormBackward, head_norm_shape(),
                                {{d_qkv, kRw}, {saved.raw_qkv, kR}, {weight(g, Role::kQueryNormWeight), kR},
                                 {weight(g, Role::kKeyNormWeight), kR}, {saved.head_statistics, kR},
                                 {weight_gradient(g, Role::kQueryNormWeight), kW}, {weight_gradient(g, Role::kKeyNormWeight), kW}});
    }
    return project_backward(g, Role::kQkvWeight, Role::kQkvBias, d_qkv, saved.norm1, s_.hidden, s_.qkv_width(),
                            "norm 1 gradient");
  }

  /// Of two readers of one norm.
  TensorId sum_of(TensorId a, TensorId b) {
    const TensorId sum = gradient(s_.hidden, "shared norm gradient");
    build_.add(OpKind::kAdd, {.rows = n_, .inputs = s_.hidden}, {{a, kR}, {b, kR}, {sum, kW}});
    return sum;
  }

  void block_backward(GroupId g, const SavedBlock& saved) {
    const TensorId d_norm2 = ffn_backward(g, saved);
    if (!s_.parallel_block) {
      norm_backward(g, Role::kNorm2Weight, Role::kNorm2Bias, d_norm2, saved.middle, saved.statistics2, kRw);
    }
    const TensorId d_attended = attention_backward(g, saved);
    const TensorId d_norm1 = s_.parallel_block ? sum_of(d_attended, d_norm2) : d_attended;
    norm_backward(g, Role::kNorm1Weight, Role::kNorm1Bias, d_norm1, saved.input, saved.statistics1, kRw);
    accumulate(g);
  }

  /// The clip factor over all groups; an invalid id when clipping is off.
  TensorId clip_factor(Kind gradients) {
    const auto groups = static_cast<std::int64_t>(build_.parameters().groups.size());
    if (build_.recipe().clip == 0) return {};
    const TensorId partials = build_.make(Kind::kScalar, groups, DType::kFp64, "squared norms");
    for (std::int64_t i = 0; i < groups; ++i) {
      const GroupId g(static_cast<std::uint32_t>(i));
      build_.add(OpKind::kSquaredNorm, {.rows = build_.parameters().at(g).elements},
                 {{build_.whole_group(gradients, g), kR}, {build_.view(partials, i, 1), kW}});
    }
    const TensorId factor = build_.make(Kind::kScalar, 2, DType::kFp64, "clip factor and norm");
    build_.add(OpKind::kClipFactor, {.terms = groups}, {{partials, kR}, {factor, kW}});
    return factor;
  }

  void optimizer() {
    build_.enter(Phase::kOptimizer, -1);
    join_head();
    const bool mixed = has_master_copy(build_.recipe().precision);
    const Kind gradients = build_.recipe().accumulate > 1 ? Kind::kAccumulator : Kind::kGradient;
    const TensorId factor = clip_factor(gradients);
    for (std::uint32_t i = 0; i < build_.parameters().groups.size(); ++i) {
      const GroupId g(i);
      const ParameterGroup& group = build_.parameters().at(g);
      build_.enter(Phase::kOptimizer, group.block);
      build_.add(OpKind::kAdamW, {.rows = group.elements, .inputs = group.decaying_elements},
                 {{build_.whole_group(mixed ? Kind::kMaster : Kind::kParameter, g), kRw},
                  {build_.whole_group(Kind::kFirstMoment, g), kRw},
                  {build_.whole_group(Kind::kSecondMoment, g), kRw},
                  {build_.whole_group(gradients, g), kR},
                  {factor, kR},
                  {mixed ? build_.whole_group(Kind::kParameter, g) : TensorId(), kW}});
    }
  }

  GraphBuilder build_;
  const ModelSpec& s_;
  std::int64_t n_;
  TensorId tokens_, stream_, final_input_, final_norm_, final_statistics_, logits_, residual_gradient_, head_sum_;
  std::vector<SavedBlock> saved_;
};

}  // namespace

Graph build_training_graph(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options) {
  return StepWriter(spec, recipe, options).write(options.evaluation);
}

}  // namespace plimsoll
