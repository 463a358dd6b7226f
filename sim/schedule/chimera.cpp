#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

struct Slot {
  std::uint32_t time = 0;
  PipelineOp op;
};

Result<void> check_chimera(const ScheduleRequest& request) {
  const std::uint32_t ranks = request.ranks;
  if (ranks % 2 != 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("chimera needs an even number of ranks, not {}", ranks),
                 .where = "--stages",
                 .remedy = fmt::format("take --stages {} or {}", std::max(ranks - 1, 2U), ranks + 1)});
  }
  if (request.micro_batches % ranks == 0) return {};
  const std::uint32_t above = (request.micro_batches / ranks + 1) * ranks;
  const std::string nearest = above == ranks ? fmt::format("{}", above) : fmt::format("{} or {}", above - ranks, above);
  return fail(
      {.kind = ErrorKind::kInput,
       .what = fmt::format("chimera needs a multiple of {} micro-batches, not {}", ranks, request.micro_batches),
       .where = "--micro-batches",
       .remedy = fmt::format("take --micro-batches {}", nearest)});
}

/// What `rank` does for the i-th pair of micro-batches of a unit that begins at slot `begin`: closed form of the
/// published merge of a pipeline that runs down the ranks and one that runs up.
void add_pair(std::vector<Slot>& slots, std::uint32_t ranks, std::uint32_t rank, std::uint32_t begin, std::uint32_t i,
              MicroBatchId down, MicroBatchId up) {
  using enum PipelineWork;
  const std::uint32_t mirror = ranks - 1 - rank;
  const std::uint32_t time = begin + 2 * i;
  slots.push_back({time + rank, {kForward, false, StageId(rank), down}});
  slots.push_back({time + 2 * ranks - 1 - rank, {kBackward, false, StageId(rank), down}});
  slots.push_back({time + mirror, {kForward, false, StageId(mirror), up}});
  slots.push_back({time + ranks + rank, {kBackward, false, StageId(mirror), up}});
}

}  // namespace

/// Two pipelines in opposite directions on the same ranks (Li and Hoefler, "Chimera", 2021). Rank s holds stage s for
/// the first half of the micro-batches, which go down, and stage p − 1 − s for the other half, which go up.
Result<PipelineSchedule> make_chimera(const ScheduleRequest& request) {
  if (auto sized = check_chimera(request); !sized) return fail(sized.error());
  const std::uint32_t ranks = request.ranks;
  const std::uint32_t half = request.micro_batches / 2;
  PipelineSchedule schedule = empty_schedule(request, ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Slot> slots;
    for (std::uint32_t pair = 0; pair < half; ++pair) {
      const std::uint32_t unit = pair / (ranks / 2);  // a unit of p micro-batches fills 2p slots of every rank
      add_pair(slots, ranks, rank, unit * 2 * ranks, pair % (ranks / 2), MicroBatchId(pair), MicroBatchId(half + pair));
    }
    std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.time < b.time; });
    for (const Slot& slot : slots) schedule.orders[rank].push_back(slot.op);
  }
  return schedule;
}

}  // namespace plimsoll
