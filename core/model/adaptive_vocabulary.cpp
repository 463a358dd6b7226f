#include "core/model/adaptive_vocabulary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace plimsoll {
namespace {

constexpr double kExponent = 1.275;

/// Tokens of the words up to rank r, by the integral of the law from half a rank on, but for a factor.
double tokens_up_to(std::int64_t rank) { return 1 - std::pow(2.0 * static_cast<double>(rank) + 1, 1 - kExponent); }

}  // namespace

std::vector<WordCluster> word_clusters(const AdaptiveVocabulary& adaptive, std::int64_t words, std::int64_t hidden) {
  std::vector<WordCluster> clusters;
  std::int64_t first = 0, width = hidden;
  const auto add_up_to = [&](std::int64_t end) {
    const double share = (tokens_up_to(end) - tokens_up_to(first)) / tokens_up_to(words);
    clusters.push_back({.words = end - first, .width = width, .share = share});
    first = end;
    width /= adaptive.divisor;
  };
  for (const std::int64_t cutoff : adaptive.cutoffs) add_up_to(cutoff);
  add_up_to(words);
  return clusters;
}

std::string canonical_text(const AdaptiveVocabulary& adaptive) {
  if (!adaptive.exists()) return {};
  return fmt::format(" cutoffs={} divisor={}", fmt::join(adaptive.cutoffs, ","), adaptive.divisor);
}

}  // namespace plimsoll
