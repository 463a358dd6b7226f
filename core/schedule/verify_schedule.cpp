#include "core/schedule/verify_schedule.h"

#include <fmt/format.h>

#include "core/schedule/order_walk.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> defect(std::string where, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = std::move(where), .remedy = remedy});
}

std::string place(std::size_t rank, std::size_t index, const PipelineOp& op) {
  return fmt::format("rank {}, op {} ({})", rank, index, to_text(op));
}

/// What has been seen of one (stage, micro-batch): its rank, and which works, as bits of PipelineWork.
struct CellState {
  RankId rank;
  unsigned seen = 0;
};

constexpr unsigned bit(PipelineWork work) { return 1U << static_cast<unsigned>(work); }

/// Which works must, and which must not, stand before a work of the same stage and micro-batch.
struct WorkRule {
  unsigned needs = 0;
  unsigned excludes = 0;
};

WorkRule rule_of(PipelineWork work) {
  using enum PipelineWork;
  switch (work) {
    case kForward:
      return {0, bit(kForward) | bit(kBackward) | bit(kInputGradient) | bit(kWeightGradient)};
    case kBackward:
      return {bit(kForward), bit(kBackward) | bit(kInputGradient) | bit(kWeightGradient)};
    case kInputGradient:
      return {bit(kForward), bit(kBackward) | bit(kInputGradient) | bit(kWeightGradient)};
    case kWeightGradient:
      return {bit(kForward) | bit(kInputGradient), bit(kBackward) | bit(kWeightGradient)};
  }
  return {};
}

std::string works_text(unsigned works) {
  std::string text;
  for (unsigned i = 0; i < 4; ++i) {
    if ((works & (1U << i)) == 0) continue;
    text += (text.empty() ? "" : " and ") + std::string(1, letter_of(static_cast<PipelineWork>(i)));
  }
  return text;
}

Result<void> check_sizes(const PipelineSchedule& schedule) {
  if (schedule.ranks() == 0 || schedule.stages == 0 || schedule.micro_batches == 0) {
    return defect(schedule.name, "a schedule without ranks, stages or micro-batches");
  }
  std::uint64_t ops = 0;
  for (const auto& order : schedule.orders) ops += order.size();
  if (schedule.ranks() > kMaxPipelineRanks || ops > kMaxPipelineOps || schedule.cells() > kMaxPipelineOps) {
    return defect(schedule.name, fmt::format("more than {} ranks or {} ops", kMaxPipelineRanks, kMaxPipelineOps));
  }
  return {};
}

Result<void> check_op(const PipelineSchedule& schedule, std::vector<CellState>& cells, std::size_t rank,
                      std::size_t index) {
  const auto& order = schedule.orders[rank];
  const PipelineOp& op = order[index];
  const std::string where = place(rank, index, op);
  if (op.stage.index >= schedule.stages || op.micro_batch.index >= schedule.micro_batches) {
    return defect(where,
                  fmt::format("there are {} stages and {} micro-batches", schedule.stages, schedule.micro_batches));
  }
  CellState& cell = cells[schedule.cell(op)];
  if (cell.rank.valid() && cell.rank != RankId(rank)) {
    return defect(where, fmt::format("rank {} works on this stage and micro-batch too", cell.rank.index),
                  "all ops of a stage and micro-batch belong on the rank that holds its activations");
  }
  const WorkRule rule = rule_of(op.work);
  if (const unsigned twice = cell.seen & rule.excludes; twice != 0) {
    return defect(where, fmt::format("comes after {} of the same stage and micro-batch", works_text(twice)));
  }
  if (const unsigned missing = rule.needs & ~cell.seen; missing != 0) {
    return defect(where, fmt::format("{} of the same stage and micro-batch must come before", works_text(missing)));
  }
  const bool pairs =
      index + 1 < order.size() && op.work == PipelineWork::kForward && sends_gradient(order[index + 1].work);
  if (op.with_next && !pairs) return defect(where, "only a forward with a backward after it can be overlapped");
  cell.rank = RankId(rank);
  cell.seen |= bit(op.work);
  return {};
}

Result<void> check_complete(const PipelineSchedule& schedule, const std::vector<CellState>& cells) {
  using enum PipelineWork;
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    for (std::uint32_t micro_batch = 0; micro_batch < schedule.micro_batches; ++micro_batch) {
      const unsigned seen = cells[schedule.cell(StageId(stage), MicroBatchId(micro_batch))].seen;
      const std::string where = fmt::format("stage {}, micro-batch {}", stage, micro_batch);
      if ((seen & bit(kForward)) == 0) return defect(where, "no forward (F)");
      if ((seen & (bit(kBackward) | bit(kInputGradient))) == 0) return defect(where, "no backward (B, or I and W)");
      if ((seen & bit(kInputGradient)) != 0 && (seen & bit(kWeightGradient)) == 0) {
        return defect(where, "no weight gradient (W) for its input gradient (I)");
      }
    }
  }
  return {};
}

/// The chain of waits from a rank that is stuck, until it closes.
std::string circle_of_waits(const PipelineSchedule& schedule, const OrderWalk& walk, std::size_t rank) {
  std::vector<bool> seen(schedule.ranks(), false);
  std::string text;
  for (std::size_t links = 0; !seen[rank] && links < 8; ++links) {
    seen[rank] = true;
    const auto& order = schedule.orders[rank];
    const std::size_t index = walk.ran(rank);
    const PipelineOp& head = order[index];
    const PipelineOp needed = walk.awaited(walk.ready(head) ? order[index + 1] : head);
    const RankId holder = walk.rank_of(schedule.cell(needed));
    if (!text.empty()) text += "; ";
    text += fmt::format("rank {} waits before {} for the {} of stage {}, micro-batch {} from rank {}", rank, to_text(head),
                        needed.work == PipelineWork::kForward ? "activations" : "gradient", needed.stage.index,
                        needed.micro_batch.index, holder.index);
    rank = holder.index;
  }
  return text;
}

Result<void> check_progress(const PipelineSchedule& schedule) {
  OrderWalk walk(schedule);
  walk.run([](RankId, std::size_t) {});
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    const auto& order = schedule.orders[rank];
    if (walk.ran(rank) == order.size()) continue;
    return defect(place(rank, walk.ran(rank), order[walk.ran(rank)]),
                  "a deadlock: " + circle_of_waits(schedule, walk, rank));
  }
  return {};
}

Result<void> check_moves(const PipelineSchedule& schedule, const std::vector<CellState>& cells) {
  for (const StashMove& move : schedule.moves) {
    const std::string what = fmt::format("activations moved after {}", to_text(move.after));
    const bool known =
        move.after.stage.index < schedule.stages && move.after.micro_batch.index < schedule.micro_batches;
    if (!known || move.after.work != PipelineWork::kForward) return defect(schedule.name, what + ": no such forward");
    if (cells[schedule.cell(move.after)].rank != move.from || move.to.index >= schedule.ranks() ||
        move.to == move.from) {
      return defect(schedule.name, fmt::format("{}: from rank {} to rank {}", what, move.from.index, move.to.index));
    }
  }
  return {};
}

std::uint64_t count_transfers(const PipelineSchedule& schedule, const std::vector<CellState>& cells) {
  std::uint64_t crossings = 0;
  for (std::size_t cell = schedule.micro_batches; cell < cells.size(); ++cell) {
    if (cells[cell].rank != cells[cell - schedule.micro_batches].rank) ++crossings;
  }
  return 2 * crossings;  // an activation there, a gradient back
}

}  // namespace

Result<ScheduleReport> verify_schedule(const PipelineSchedule& schedule) {
  if (auto sizes = check_sizes(schedule); !sizes) return fail(sizes.error());
  std::vector<CellState> cells(schedule.cells());
  ScheduleReport report;
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t index = 0; index < schedule.orders[rank].size(); ++index, ++report.ops) {
      if (auto sound = check_op(schedule, cells, rank, index); !sound) return fail(sound.error());
    }
  }
  if (auto complete = check_complete(schedule, cells); !complete) return fail(complete.error());
  if (auto moves = check_moves(schedule, cells); !moves) return fail(moves.error());
  if (auto ends = check_progress(schedule); !ends) return fail(ends.error());
  report.transfers = count_transfers(schedule, cells);
  return report;
}

}  // namespace plimsoll
