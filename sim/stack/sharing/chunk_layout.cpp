#include "sim/stack/sharing/chunk_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll {
namespace {

constexpr std::int64_t kLeast = std::int64_t{32} << 20;
constexpr std::int64_t kRange = std::int64_t{32} << 20;
constexpr std::int64_t kStep = 1024;

std::int64_t rounded(std::int64_t elements) { return (elements + kStep - 1) / kStep * kStep; }

/// The largest tensor within three standard deviations above the mean; those beyond have chunks of their own.
std::int64_t largest_usual(const std::vector<std::int64_t>& tensors) {
  const auto count = static_cast<double>(tensors.size());
  const double mean = std::accumulate(tensors.begin(), tensors.end(), 0.0) / count;
  double squares = 0;
  for (const std::int64_t tensor : tensors) squares += (static_cast<double>(tensor) - mean) * (static_cast<double>(tensor) - mean);
  const double limit = mean + 3 * std::sqrt(squares / count);
  std::int64_t largest = 0;
  for (const std::int64_t tensor : tensors) {
    if (static_cast<double>(tensor) <= limit) largest = std::max(largest, tensor);
  }
  return largest;
}

}  // namespace

ChunkLayout lay_out(const std::vector<std::int64_t>& tensors, std::int64_t chunk) {
  ChunkLayout layout{.chunk = chunk, .sizes = {}, .chunk_of = {}};
  std::int64_t left = 0;
  std::size_t filling = 0;
  for (const std::int64_t tensor : tensors) {
    if (tensor > chunk) {
      layout.chunk_of.push_back(layout.sizes.size());
      layout.sizes.push_back(tensor);
      continue;
    }
    if (tensor > left) {
      filling = layout.sizes.size();
      layout.sizes.push_back(chunk);
      left = chunk;
    }
    left -= tensor;
    layout.chunk_of.push_back(filling);
  }
  return layout;
}

std::int64_t chunk_waste(const std::vector<std::int64_t>& tensors, std::int64_t chunk) {
  std::int64_t waste = 0;
  std::int64_t left = 0;
  for (const std::int64_t tensor : tensors) {
    if (tensor > chunk) continue;
    if (tensor > left) {
      waste += left;
      left = chunk;
    }
    left -= tensor;
  }
  return waste + left;
}

std::int64_t best_chunk(const std::vector<std::int64_t>& tensors, const ChunkRange& range) {
  std::int64_t best = range.least;
  std::int64_t least = chunk_waste(tensors, best);
  for (std::int64_t chunk = range.least + range.interval; chunk <= range.most && least > 0; chunk += range.interval) {
    const std::int64_t waste = chunk_waste(tensors, chunk);
    if (waste >= least) continue;
    best = chunk;
    least = waste;
  }
  return best;
}

ChunkLayout search_chunks(const std::vector<std::int64_t>& tensors) {
  if (tensors.empty()) return {};
  const std::int64_t total = std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0});
  const std::int64_t first = std::min(rounded(std::max(kLeast, largest_usual(tensors))), rounded(total));
  return lay_out(tensors, best_chunk(tensors, {.least = first, .most = first + kRange, .interval = kStep}));
}

}  // namespace plimsoll
