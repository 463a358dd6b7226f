#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

/// A micro-batch's pass through one of a rank's chunks.
struct Pass {
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;
};

/// The forwards of a rank: groups of micro-batches, and each group through all chunks before the next group.
std::vector<Pass> passes_in_groups(std::uint32_t micro_batches, std::uint32_t chunks, std::uint32_t group) {
  std::vector<Pass> passes;
  for (std::uint32_t first = 0; first < micro_batches; first += group) {
    const std::uint32_t end = std::min(first + group, micro_batches);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::uint32_t i = first; i < end; ++i) passes.push_back({i, chunk});
    }
  }
  return passes;
}

tl::unexpected<Error> refuse_count(const ScheduleRequest& request) {
  const std::uint32_t above = (request.micro_batches / request.ranks + 1) * request.ranks;
  const std::uint32_t below = above - request.ranks;
  const std::string nearest = below == 0 ? fmt::format("{}", above) : fmt::format("{} or {}", below, above);
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("interleaved needs a multiple of {} micro-batches, not {}", request.ranks,
                                   request.micro_batches),
               .where = "--micro-batches",
               .remedy = fmt::format("take --micro-batches {}, or groups of another size (--group)", nearest)});
}

Result<std::uint32_t> group_of(const ScheduleRequest& request) {
  const std::uint32_t count = request.micro_batches;
  if (!request.group) {
    if (count % request.ranks != 0) return refuse_count(request);
    return request.ranks;
  }
  const std::uint32_t group = *request.group;
  const bool fits = group >= request.ranks && group <= count && (count % group == 0 || count % group >= request.ranks);
  if (fits) return group;
  return fail(
      {.kind = ErrorKind::kInput,
       .what = fmt::format("groups of {} do not go with {} ranks and {} micro-batches", group, request.ranks, count),
       .where = "--group",
       .remedy =
           fmt::format("a group holds {} to {} micro-batches, and so does what is left over", request.ranks, count)});
}

}  // namespace

/// 1F1B over chunks (Narayanan et al., "Efficient large-scale language model training on GPU clusters", 2021): rank r
/// holds the stages r, r + p, r + 2p, …
Result<PipelineSchedule> make_interleaved(const ScheduleRequest& request) {
  const std::uint32_t ranks = request.ranks;
  const std::uint32_t chunks = *request.chunks;
  if (chunks == 1) return make_1f1b(request);
  const auto group = group_of(request);
  if (!group) return fail(group.error());
  PipelineSchedule schedule = empty_schedule(request, ranks * chunks);
  const std::vector<Pass> passes = passes_in_groups(request.micro_batches, chunks, *group);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    OrderBuilder order(schedule.orders[rank]);
    const auto forward = [&](std::size_t k) { order.forward(passes[k].chunk * ranks + rank, passes[k].micro_batch); };
    const std::size_t ahead = std::min<std::size_t>(2 * (ranks - 1 - rank) + (chunks - 1) * *group, passes.size());
    for (std::size_t k = 0; k < ahead; ++k) forward(k);
    for (std::size_t k = 0; k < passes.size(); ++k) {
      if (ahead + k < passes.size()) forward(ahead + k);
      order.backward((chunks - 1 - passes[k].chunk) * ranks + rank, passes[k].micro_batch);
    }
  }
  return schedule;
}

/// All forwards chunk by chunk, then all backwards the same way back (Lamy-Poirier, "Breadth-first pipeline
/// parallelism", 2022): the weights of a stage are needed in two stretches only.
Result<PipelineSchedule> make_looped_bfs(const ScheduleRequest& request) {
  const std::uint32_t chunks = *request.chunks;
  PipelineSchedule schedule = empty_schedule(request, request.ranks * chunks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    OrderBuilder order(schedule.orders[rank]);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::uint32_t i = 0; i < request.micro_batches; ++i) order.forward(chunk * request.ranks + rank, i);
    }
    for (std::uint32_t chunk = chunks; chunk-- > 0;) {
      for (std::uint32_t i = request.micro_batches; i-- > 0;) order.backward(chunk * request.ranks + rank, i);
    }
  }
  return schedule;
}

}  // namespace plimsoll
