#include <algorithm>

#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

/// One rank of ZB-V with its two stages, `down` on the way there and `up` on the way back. Counts go on past the number
/// of micro-batches, so that a short schedule is the long one with ops left out.
class ZeroBubbleVRank {
 public:
  ZeroBubbleVRank(std::vector<PipelineOp>& ops, std::uint32_t ranks, std::uint32_t rank, std::uint32_t count)
      : ops_(ops), ranks_(ranks), rank_(rank), count_(count), down_{rank}, up_{2 * ranks - 1 - rank} {}

  void write() {
    using enum PipelineWork;
    const std::uint32_t total = std::max(2 * ranks_ - 1, count_);
    repeat(2 * (ranks_ - rank_) - 1, [&] { add(down_, kForward); });
    repeat(rank_, [&] { add(up_, kForward), add(down_, kForward); });
    repeat(ranks_ - rank_, [&] { add(up_, kForward), whole_backward(up_); });
    while (up_.done[0] < down_.done[0] || down_.done[0] < total) {
      if (down_.done[0] < total) add(down_, kForward);
      whole_backward(down_);
      add(up_, kForward);
      whole_backward(up_);
    }
    repeat(rank_, [&] { add(down_, kInputGradient), add(up_, kInputGradient); });
    repeat(ranks_ - rank_, [&] { whole_backward(down_); });
    while (up_.done[2] < up_.done[1]) add(up_, kWeightGradient);
    while (down_.done[2] < down_.done[1]) add(down_, kWeightGradient);
  }

 private:
  struct Chunk {
    std::uint32_t stage = 0;
    std::uint32_t done[3] = {0, 0, 0};  ///< forwards, input gradients, weight gradients
  };

  template <typename Body>
  static void repeat(std::uint32_t times, Body body) {
    for (std::uint32_t i = 0; i < times; ++i) body();
  }

  void add(Chunk& chunk, PipelineWork work) {
    const std::size_t which = work == PipelineWork::kForward ? 0 : work == PipelineWork::kInputGradient ? 1 : 2;
    const std::uint32_t micro_batch = chunk.done[which]++;
    if (micro_batch < count_) ops_.push_back({work, false, StageId(chunk.stage), MicroBatchId(micro_batch)});
  }

  void whole_backward(Chunk& chunk) {
    add(chunk, PipelineWork::kInputGradient);
    add(chunk, PipelineWork::kWeightGradient);
  }

  std::vector<PipelineOp>& ops_;
  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::uint32_t count_;
  Chunk down_;
  Chunk up_;
};

}  // namespace

/// Zero bubble with the memory of 1F1B: rank r holds the stages r and 2p − 1 − r, so that the last stage's gradient
/// starts on the first rank (Qi et al., "Zero bubble pipeline parallelism", 2024; the order that PyTorch runs).
Result<PipelineSchedule> make_zb_v(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, 2 * request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    ZeroBubbleVRank(schedule.orders[rank], request.ranks, rank, request.micro_batches).write();
  }
  return schedule;
}

}  // namespace plimsoll
