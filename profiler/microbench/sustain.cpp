#include "profiler/microbench/sustain.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll {
namespace {

/// Pieces whose time together is about `seconds`, judged by ever longer trials.
std::int64_t pieces_in(const RunPieces& run, const SustainOptions& options) {
  std::int64_t count = 1;
  while (count < options.most_pieces) {
    const double seconds = run(count);
    if (seconds >= options.batch_seconds / 4) {
      const double wanted = static_cast<double>(count) * options.batch_seconds / seconds;
      return std::clamp<std::int64_t>(std::llround(wanted), 1, options.most_pieces);
    }
    count = std::min(options.most_pieces, count * 4);
  }
  return options.most_pieces;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The last quarter against the first.
double slowdown_of(const std::vector<double>& seconds) {
  const auto quarter = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, seconds.size() / 4));
  const double first = median({seconds.begin(), seconds.begin() + quarter});
  return first > 0 ? median({seconds.end() - quarter, seconds.end()}) / first : 1;
}

}  // namespace

Sustained sustain(const RunPieces& run, const SustainOptions& options) {
  const std::int64_t batch = pieces_in(run, options);
  for (double warm = 0; warm < options.warm_up_seconds;) warm += std::max(run(batch), 1e-6 * static_cast<double>(batch));
  Sustained sustained;
  std::vector<double> seconds;
  // A batch that takes no measurable time would never add up to the least.
  const auto most_batches = static_cast<std::size_t>(std::ceil(options.least_seconds / options.batch_seconds)) * 8;
  while (seconds.empty() || (sustained.total_seconds < options.least_seconds && seconds.size() < most_batches)) {
    const double took = run(batch);
    sustained.total_seconds += took;
    sustained.pieces += batch;
    seconds.push_back(took / static_cast<double>(batch));
  }
  sustained.slowdown = slowdown_of(seconds);
  sustained.seconds = spread_of(std::move(seconds));
  return sustained;
}

}  // namespace plimsoll
