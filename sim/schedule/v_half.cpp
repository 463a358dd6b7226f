#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"
#include "sim/schedule/squeeze_pattern.h"

namespace plimsoll {
namespace {

constexpr int kPeriod = 6;  ///< slots of a rank that one micro-batch fills: two F, two I, two W

/// The slots at which a rank works on the first micro-batch: F down, F up, I up, I down.
using Offsets = std::array<int, kPassWorks>;

/// The pattern repeated for every micro-batch, its start and end squeezed, as ops in order.
PipelineSchedule repeat_pattern(const ScheduleRequest& request, const std::vector<Offsets>& offsets) {
  SlotPattern pattern(request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    for (std::size_t work = 0; work < kPassWorks; ++work) {
      for (std::uint32_t i = 0; i < request.micro_batches; ++i) {
        pattern[rank][work].push_back(offsets[rank][work] + kPeriod * static_cast<int>(i));
      }
    }
  }
  squeeze(pattern, true);
  compact(pattern);
  for (RankSlots& rank : pattern) drop_weights(rank);
  squeeze(pattern, false);
  for (RankSlots& rank : pattern) fill_weights(rank, false);
  compact(pattern);
  for (RankSlots& rank : pattern) fill_weights(rank, true);

  PipelineSchedule schedule = empty_schedule(request, 2 * request.ranks);
  for (const SlotOp& op : ops_by_slot(pattern)) {
    using enum PipelineWork;
    const bool on_way_down =
        op.work == SlotWork::kForwardDown || op.work == SlotWork::kInputDown || op.work == SlotWork::kWeightDown;
    const StageId stage(on_way_down ? op.rank : 2 * request.ranks - 1 - op.rank);
    const PipelineWork work = is_forward(op.work) ? kForward : is_weight(op.work) ? kWeightGradient : kInputGradient;
    schedule.orders[op.rank].push_back({work, false, stage, MicroBatchId(op.index)});
  }
  return schedule;
}

}  // namespace

/// Half of 1F1B's activations: a pattern of offsets whose life spans add up to half as much (Qi et al., "Pipeline
/// parallelism with controllable memory", 2024).
Result<PipelineSchedule> make_v_half(const ScheduleRequest& request) {
  const int ranks = static_cast<int>(request.ranks);
  const int gap = ranks % 2 == 0 ? 3 : 0;
  std::vector<Offsets> offsets;
  for (int i = 0; i < ranks; ++i) {
    offsets.push_back({2 * i, 3 * ranks - i - 2, 3 * ranks + gap + 2 * i - 1, 6 * ranks + gap - i - 2});
  }
  return repeat_pattern(request, offsets);
}

/// A third of 1F1B's activations, the least of its kind.
Result<PipelineSchedule> make_v_min(const ScheduleRequest& request) {
  const int ranks = static_cast<int>(request.ranks);
  const int gap = ranks % 3 == 0 ? 2 : 0;
  std::vector<Offsets> offsets;
  for (int i = 0; i < ranks; ++i) {
    offsets.push_back({i, 2 * ranks - i - 1, 2 * ranks + gap + i, 4 * ranks + gap - i - 1});
  }
  return repeat_pattern(request, offsets);
}

}  // namespace plimsoll
