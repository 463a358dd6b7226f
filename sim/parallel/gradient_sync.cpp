#include "sim/parallel/gradient_sync.h"

#include <algorithm>
#include <cmath>

#include "sim/parallel/collectives.h"
#include "sim/parallel/slowed_backward.h"

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

bool reduces_at_end(const ParallelLayout& layout) { return layout.data_ranks * layout.context_ranks >= 2 && layout.zero < 2; }

/// The last backward pass of a stage as the schedule times it.
BackwardBuckets last_backward(const ParallelQuestion& question, const PieceCost& cost, const OpTime& time, double ticks_per_second) {
  const ParallelLayout& layout = question.layout;
  const Collective kind = layout.zero == 1 ? Collective::kReduceScatter : Collective::kAllReduce;
  const double count = std::max(1.0, std::ceil(cost.elements / bucket_elements(layout)));
  return {.begin = static_cast<double>(time.begin.count) / ticks_per_second,
          .length = static_cast<double>((time.end - time.begin).count) / ticks_per_second,
          .buckets = count,
          .seconds = seconds_among_data_ranks(kind, cost.gradients / count, cost.expert_gradients / count, layout,
                                              question.cluster)};
}

/// Where an op stands: in which rank's order, and at which place.
struct Place {
  std::size_t rank = 0, op = 0;
};

/// Of each stage, its last backward pass.
std::vector<Place> places_of_last(const PipelineSchedule& schedule) {
  std::vector<Place> places(schedule.stages);
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    for (const std::size_t op : last_backwards(schedule.orders[rank])) places[schedule.orders[rank][op].stage.index] = {rank, op};
  }
  return places;
}

}  // namespace

BackwardDelays backward_delays(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                               const PipelineSchedule& schedule, const ScheduleTiming& timing, double ticks_per_second) {
  const double share = question.cluster.collective_share;
  if (share <= 0 || !question.layout.overlaps_gradients || !reduces_at_end(question.layout)) return {};
  const std::vector<Place> places = places_of_last(schedule);
  BackwardDelays delays{.begin = std::vector<double>(places.size()), .end = std::vector<double>(places.size())};
  std::vector<double> busy_until(schedule.ranks());
  double passed_on = 0;
  for (std::size_t stage = places.size(); stage-- > 0;) {
    const auto [rank, op] = places[stage];
    BackwardBuckets pass = last_backward(question, parts[stage].cost, timing.ops[rank][op], ticks_per_second);
    pass.begin += passed_on;
    const SlowedBackward slowed = slow_backward(pass, busy_until[rank], share);
    busy_until[rank] = slowed.sent;
    delays.begin[stage] = passed_on;
    delays.end[stage] = passed_on + slowed.end - pass.begin - pass.length;
    if (sends_gradient(schedule.orders[rank][op].work)) passed_on = delays.end[stage];
  }
  return delays;
}

std::vector<GradientBucket> gradient_buckets(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                                             const std::vector<PipelineOp>& order, const std::vector<OpTime>& times,
                                             double ticks_per_second, const BackwardDelays& delays) {
  std::vector<GradientBucket> buckets;
  if (!reduces_at_end(question.layout)) return buckets;
  const double end = static_cast<double>(times.back().end.count) / ticks_per_second;
  double busy_until = 0;
  for (const std::size_t last : last_backwards(order)) {
    const std::uint32_t stage = order[last].stage.index;
    BackwardBuckets pass = last_backward(question, parts[stage].cost, times[last], ticks_per_second);
    if (!delays.begin.empty()) pass.begin += delays.begin[stage];
    const SlowedBackward slowed = slow_backward(pass, busy_until, question.cluster.collective_share);
    busy_until = slowed.sent;
    for (const double ready : slowed.ready) {
      buckets.push_back({.ready = question.layout.overlaps_gradients ? ready : end, .seconds = pass.seconds});
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
