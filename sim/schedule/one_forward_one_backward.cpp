#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "core/schedule/verify_schedule.h"
#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = "--stage-replicas", .remedy = std::move(remedy)});
}

/// 1F1B-RR (Narayanan et al., PipeDream, SOSP 2019, section 3.2): micro-batch m goes to the replica numbered m mod the
/// stage's count. A replica is as many forwards ahead as keep all ranks from its stage on busy: ⌈ranks from here on ÷
/// replicas⌉ in flight.
PipelineSchedule make_round_robin(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  schedule.replicas = request.replicas;
  const std::uint32_t ranks = first_rank_of(request.replicas, request.ranks), count = request.micro_batches;
  schedule.orders.assign(ranks, {});
  for (std::uint32_t stage = 0; stage < request.ranks; ++stage) {
    const std::uint32_t first = first_rank_of(request.replicas, stage), replicas = request.replicas[stage];
    const std::uint32_t ahead = (ranks - first + replicas - 1) / replicas - 1;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      OrderBuilder order(schedule.orders[first + replica]);
      for (std::uint32_t m = replica; m < std::min(count, ahead * replicas); m += replicas) order.forward(stage, m);
      for (std::uint32_t m = replica; m < count; m += replicas) {
        if (m + ahead * replicas < count) order.forward(stage, m + ahead * replicas);
        order.backward(stage, m);
      }
    }
  }
  return schedule;
}

}  // namespace

Result<void> check_replicas(const ScheduleRequest& request) {
  const std::vector<std::uint32_t>& replicas = request.replicas;
  if (replicas.empty()) return {};
  if (request.name != "pipedream")
    return refuse(
        fmt::format("replicas of each stage by itself are of the schedule pipedream, not of {}", request.name),
        "take pipedream, or leave it out");
  if (replicas.size() != request.ranks)
    return refuse(fmt::format("{} counts, {}, for {} stages", replicas.size(), fmt::join(replicas, ","), request.ranks),
                  "give one count for each stage");
  std::uint64_t ranks = 0;
  for (const std::uint32_t count : replicas) {
    if (count == 0)
      return refuse(fmt::format("a stage without a rank in {}", fmt::join(replicas, ",")), "a stage has 1 or more");
    ranks += count;
  }
  if (ranks > kMaxPipelineRanks)
    return refuse(fmt::format("a pipeline of {} ranks", ranks), fmt::format("take {} at most", kMaxPipelineRanks));
  const std::uint64_t round = common_round(replicas);
  if (round > std::numeric_limits<std::uint32_t>::max())
    return refuse(fmt::format("the rounds of {} replicas never end together", fmt::join(replicas, ",")),
                  "take counts with a smaller common multiple");
  const std::uint64_t most = *std::max_element(replicas.begin(), replicas.end());
  if (request.micro_batches < most)
    return refuse(fmt::format("{} micro-batches for the {} replicas of a stage", request.micro_batches, most),
                  fmt::format("take --micro-batches {}", round));
  if (request.micro_batches % round == 0) return {};
  return refuse(fmt::format("{} micro-batches do not go round {} replicas of the stages in whole rounds",
                            request.micro_batches, fmt::join(replicas, ",")),
                fmt::format("take a multiple of {}", round));
}

/// Enough forwards to keep the ranks after this one busy, then one forward and one backward in turn
/// (Narayanan et al., "Memory-efficient pipeline-parallel DNN training", PipeDream-flush).
Result<PipelineSchedule> make_1f1b(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  const std::uint32_t count = request.micro_batches;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    OrderBuilder order(schedule.orders[rank]);
    const std::uint32_t ahead = std::min(request.ranks - 1 - rank, count);
    for (std::uint32_t i = 0; i < ahead; ++i) order.forward(rank, i);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (ahead + i < count) order.forward(rank, ahead + i);
      order.backward(rank, i);
    }
  }
  return schedule;
}

/// The order of 1F1B without a flush: every backward updates, and old weights wait for the backwards that need them.
Result<PipelineSchedule> make_pipedream(const ScheduleRequest& request) {
  auto schedule = request.replicas.empty() ? make_1f1b(request) : Result<PipelineSchedule>(make_round_robin(request));
  schedule->weights = request.vertical_sync ? WeightRule::kVerticalSync : WeightRule::kStash;
  return schedule;
}

/// The order of 1F1B, its gradients accumulated over a step of at least as many micro-batches as ranks, so that two
/// versions of the weights are enough.
Result<PipelineSchedule> make_2bw(const ScheduleRequest& request) {
  if (request.micro_batches < request.ranks) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("2bw needs at least as many micro-batches as ranks, not {} for {}",
                                     request.micro_batches, request.ranks),
                 .where = "--micro-batches",
                 .remedy = fmt::format("take --micro-batches {}", request.ranks)});
  }
  auto schedule = make_1f1b(request);
  schedule->weights = WeightRule::kDoubleBuffered;
  return schedule;
}

}  // namespace plimsoll
