#include "sim/stack/modules/adaptive_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/stack/modules/in_place.h"

namespace plimsoll {
namespace {

/// A number of each row, its own gradient's zeros but for those. Where each row has another column what it is taken from is kept
/// (gather, unlike a column's select).
Tensor picked(Tape& tape, const Tensor& x, bool gathers) {
  Tensor out = tape.empty({x.elements() / x.size(-1)}, x.dtype);
  tape.stream(2 * traffic(out), x.dtype);
  return tape.record(std::move(out), {&x}, [shape = x.shape, kept = gathers ? x.detached() : Tensor{}](Tape& t, Tensors gradients) {
    Tensor sparse = t.empty(shape, gradients[0].dtype);
    t.stream(traffic(sparse), sparse.dtype);
    return only(std::move(sparse));
  });
}

std::int64_t tokens_of(const WordCluster& words, std::int64_t tokens) {
  return std::max<std::int64_t>(1, std::llround(words.share * static_cast<double>(tokens)));
}

/// From so many rows of a matrix on, `count`: the gradient is as large as the matrix.
Tensor part_of(Tape& tape, Parameter& whole, std::int64_t count) { return narrow(tape, whole.use(), 0, count); }

}  // namespace

AdaptiveWords::AdaptiveWords(const DenseMaker& make, const ModelSpec& spec) : hidden_(spec.hidden) {
  const bool apart = spec.adaptive.projects();
  if (!apart) table_ = make.parameter("tokens", {spec.vocabulary, spec.hidden});
  for (const WordCluster& words : word_clusters(spec.adaptive, spec.vocabulary, spec.hidden)) {
    Cluster made{.words = words};
    if (apart) {
      const std::size_t i = clusters_.size();
      made.table = make.parameter(fmt::format("tokens {}", i), {words.words, words.width});
      made.projection = make.parameter(fmt::format("widening {}", i), {spec.hidden, words.width});
      made.bias = make.parameter(fmt::format("output bias {}", i), {words.words});
    }
    clusters_.push_back(made);
  }
  if (!apart) bias_ = make.parameter("output bias", {spec.vocabulary});
  const auto further = static_cast<std::int64_t>(clusters_.size()) - 1;
  if (further == 0) return;
  cluster_weight_ = make.parameter("clusters", {further, spec.hidden});
  cluster_bias_ = make.parameter("cluster bias", {further});
  if (apart) head_projection_ = make.parameter("narrowing", {spec.hidden, spec.hidden});
}

Tensor AdaptiveWords::embed(Tape& tape, std::int64_t tokens, std::int64_t batch) const {
  if (table_ != nullptr) return overwritten(tape, embedding(tape, tape.empty({tokens, batch}, kIndexType), *table_));
  Tensor sum = tape.empty({tokens * batch, hidden_}, clusters_.front().table->value.dtype);
  tape.stream(traffic(sum), sum.dtype);
  for (const Cluster& cluster : clusters_) {
    const Tensor words = tape.empty({tokens_of(cluster.words, tokens * batch)}, kIndexType);
    const Tensor wide = linear(tape, embedding(tape, words, *cluster.table), {.weight = cluster.projection});
    sum = add_rows(tape, sum, cast(tape, wide, sum.dtype));
  }
  return overwritten(tape, view(tape, sum, {tokens, batch, hidden_}));
}

Tensor AdaptiveWords::weight_of(Tape& tape, std::size_t cluster) const {
  const Cluster& own = clusters_[cluster];
  return own.table != nullptr ? own.table->use() : part_of(tape, *table_, own.words.words);
}

Tensor AdaptiveWords::bias_of(Tape& tape, std::size_t cluster) const {
  const Cluster& own = clusters_[cluster];
  return own.bias != nullptr ? own.bias->use() : part_of(tape, *bias_, own.words.words);
}

/// Through the projection, then the words' rows; the bias is then a sum of its own.
Tensor AdaptiveWords::logits(Tape& tape, const Tensor& rows, const Tensor& weight, const Tensor& bias, std::size_t cluster) const {
  const Cluster& own = clusters_[cluster];
  if (own.projection == nullptr) return linear(tape, rows, weight, bias);
  Parameter& projection = cluster == 0 ? *head_projection_ : *own.projection;
  const Tensor narrowed = matmul(tape, rows, projection.use());
  return add(tape, linear(tape, narrowed, weight, Tensor{}), bias);
}

Tensor AdaptiveWords::flat_loss(Tape& tape, const Tensor& rows) const {
  const Tensor logit = linear(tape, rows, table_->use(), bias_->use());
  const Tensor wide = in_fp32(tape, logit);
  return mean_of_rows(tape, picked(tape, log_softmax(tape, wide), true));
}

Tensor AdaptiveWords::loss(Tape& tape, const Tensor& stream) const {
  const Tensor rows = view(tape, stream, {stream.elements() / hidden_, hidden_});
  if (clusters_.size() == 1) return flat_loss(tape, rows);
  std::vector<std::pair<Tensor, Tensor>> matrices;
  for (std::size_t i = 0; i < clusters_.size(); ++i) matrices.emplace_back(weight_of(tape, i), bias_of(tape, i));
  matrices[0].first = concatenate(tape, {matrices[0].first, cluster_weight_->use()}, 0);
  matrices[0].second = concatenate(tape, {matrices[0].second, cluster_bias_->use()}, 0);
  const Tensor head = in_fp32(tape, logits(tape, rows, matrices[0].first, matrices[0].second, 0));
  const Tensor likely = log_softmax(tape, head);
  Tensors losses;
  Tensor chosen, own, tail;  // as long as the next cluster has not taken their names
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    const std::int64_t count = tokens_of(clusters_[i].words, rows.shape.front());
    chosen = gather_rows(tape, likely, count);
    if (i == 0) {
      losses.push_back(picked(tape, chosen, true));
      continue;
    }
    own = in_fp32(tape, logits(tape, gather_rows(tape, rows, count), matrices[i].first, matrices[i].second, i));
    tail = log_softmax(tape, own);
    losses.push_back(add(tape, picked(tape, chosen, false), picked(tape, tail, true)));
  }
  return mean_of_rows(tape, concatenate(tape, losses, 0));
}

}  // namespace plimsoll
