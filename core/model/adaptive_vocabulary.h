#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

/// Words in clusters, by how often they occur: the head tells the most frequent ones and the clusters apart, a cluster its own
/// words (Grave et al. 2017); words of later clusters have narrower embeddings (Baevski and Auli 2019).
struct AdaptiveVocabulary {
  std::vector<std::int64_t> cutoffs;  ///< the first word of every cluster but the first, most frequent words first; none: no clusters
  std::int64_t divisor = 1;           ///< an embedding of cluster i is hidden / divisor^i wide; not 1: every cluster has a projection

  [[nodiscard]] bool exists() const { return !cutoffs.empty(); }
  /// Whether embeddings pass through projections between their widths and the stream's.
  [[nodiscard]] bool projects() const { return divisor > 1; }
  bool operator==(const AdaptiveVocabulary&) const = default;
};

struct WordCluster {
  std::int64_t words = 0;
  std::int64_t width = 0;  ///< of its words' embeddings
  double share = 1;        ///< of a text's tokens
};

/// The clusters of so many words, the most frequent first; a single one where there are no cutoffs. How often words occur follows
/// a power law, n(r) = 3 (words / r)^1.275: WikiText-103 has 103,227,021 tokens of 267,735 words of which none is rarer than three
/// (Merity et al. 2017), and that exponent gives their number.
std::vector<WordCluster> word_clusters(const AdaptiveVocabulary& adaptive, std::int64_t words, std::int64_t hidden);

/// " cutoffs=19997,39997 divisor=4": every field; empty without clusters.
std::string canonical_text(const AdaptiveVocabulary& adaptive);

}  // namespace plimsoll
