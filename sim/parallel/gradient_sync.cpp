#include "sim/parallel/gradient_sync.h"

#include <algorithm>
#include <cmath>

#include "sim/parallel/collectives.h"

namespace plimsoll {
namespace {

// Megatron-LM's buckets: max(40,000,000, 1,000,000 · data ranks) parameters (SCHEDULES.md, section 3).
constexpr double kLeastBucket = 40e6;
constexpr double kBucketPerRank = 1e6;

double bucket_elements(const ParallelLayout& layout) {
  return std::max(kLeastBucket, kBucketPerRank * static_cast<double>(layout.data_ranks));
}

/// The last op of each stage that makes gradients of weights.
std::vector<std::size_t> last_backwards(const std::vector<PipelineOp>& order) {
  std::vector<std::size_t> last;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (!ends_backward(order[i].work)) continue;
    const bool known =
        std::any_of(last.begin(), last.end(), [&](std::size_t other) { return order[other].stage == order[i].stage; });
    if (!known) last.push_back(i);
  }
  std::reverse(last.begin(), last.end());
  return last;
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                                             const std::vector<PipelineOp>& order, const std::vector<OpTime>& times,
                                             double ticks_per_second) {
  const ParallelLayout& layout = question.layout;
  std::vector<GradientBucket> buckets;
  if (layout.data_ranks * layout.context_ranks < 2 || layout.zero >= 2) return buckets;
  const Collective kind = layout.zero == 1 ? Collective::kReduceScatter : Collective::kAllReduce;
  const double end = static_cast<double>(times.back().end.count) / ticks_per_second;
  for (const std::size_t last : last_backwards(order)) {
    const PieceCost& cost = parts[order[last].stage.index].cost;
    const double count = std::max(1.0, std::ceil(cost.elements / bucket_elements(layout)));
    const double seconds =
        seconds_among_data_ranks(kind, cost.gradients / count, cost.expert_gradients / count, layout, question.cluster);
    const double begin = static_cast<double>(times[last].begin.count) / ticks_per_second;
    const double length = static_cast<double>((times[last].end - times[last].begin).count) / ticks_per_second;
    for (double i = 1; i <= count; ++i) {
      buckets.push_back({.ready = layout.overlaps_gradients ? begin + length * i / count : end, .seconds = seconds});
    }
  }
  return buckets;
}

double reduced_at(const std::vector<GradientBucket>& buckets, double start) {
  double free = 0;
  for (const GradientBucket& bucket : buckets) free = std::max(free, bucket.ready) + bucket.seconds;
  return std::max(free, start);
}

}  // namespace plimsoll
