#include <algorithm>

#include "core/schedule/verify_schedule.h"
#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

/// The construction of a wave schedule: every rank takes, whenever it is free, what it can do; of forward and backward
/// the backward. So many micro-batches at most are under way, none of which takes more than 1 of a rank's memory.
class Waves {
 public:
  Waves(PipelineSchedule& schedule, std::uint32_t ranks, std::uint32_t under_way)
      : schedule_(schedule), ranks_(ranks), busy_until_(ranks, 0), ready_(ranks) {
    while (started_ < std::min(under_way, schedule.micro_batches)) start_next();
  }

  void run() {
    for (std::size_t left = 2 * schedule_.cells(); left > 0;) {
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) left -= take(rank) ? 1 : 0;
      ++now_;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (busy_until_[rank] == now_) finish(schedule_.orders[rank].back());
      }
    }
  }

 private:
  /// Down the ranks and back up, again and again.
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage) const {
    const std::uint32_t at = stage % (2 * ranks_);
    return at < ranks_ ? at : 2 * ranks_ - 1 - at;
  }

  void start_next() { offer(PipelineWork::kForward, 0, started_++); }

  void offer(PipelineWork work, std::uint32_t stage, std::uint32_t micro_batch) {
    ready_[rank_of(stage)].push_back({work, false, StageId(stage), MicroBatchId(micro_batch)});
  }

  /// True when `a` goes before `b`: backwards, then the older micro-batch, then the later stage.
  static bool goes_first(const PipelineOp& a, const PipelineOp& b) {
    const bool a_back = a.work == PipelineWork::kBackward;
    const bool b_back = b.work == PipelineWork::kBackward;
    if (a_back != b_back) return a_back;
    if (a.micro_batch != b.micro_batch) return a.micro_batch < b.micro_batch;
    return a.stage > b.stage;
  }

  bool take(std::uint32_t rank) {
    auto& ready = ready_[rank];
    if (busy_until_[rank] > now_ || ready.empty()) return false;
    const auto chosen = std::min_element(ready.begin(), ready.end(), goes_first);
    busy_until_[rank] = now_ + (chosen->work == PipelineWork::kBackward ? 2 : 1);
    schedule_.orders[rank].push_back(*chosen);
    ready.erase(chosen);
    return true;
  }

  void finish(const PipelineOp& op) {
    const bool forward = op.work == PipelineWork::kForward;
    const bool turns = op.stage.index + 1 == schedule_.stages;
    if (forward && !turns) return offer(PipelineWork::kForward, op.stage.index + 1, op.micro_batch.index);
    if (forward) return offer(PipelineWork::kBackward, op.stage.index, op.micro_batch.index);
    if (op.stage.index > 0) return offer(PipelineWork::kBackward, op.stage.index - 1, op.micro_batch.index);
    if (started_ < schedule_.micro_batches) start_next();
  }

  PipelineSchedule& schedule_;
  std::uint32_t ranks_;
  std::uint32_t started_ = 0;
  std::uint32_t now_ = 0;  ///< in forwards of a stage; a backward takes two
  std::vector<std::uint32_t> busy_until_;
  std::vector<std::vector<PipelineOp>> ready_;
};

}  // namespace

/// Waves: the stages lie in a snake over the ranks, an even number on each (Liu et al., "Hanayo", 2023). The paper
/// gives the placement; the order is a list schedule for backwards that take twice as long as forwards. Without a
/// memory cap, two micro-batches a rank are under way: with one, long schedules leave ranks waiting.
Result<PipelineSchedule> make_hanayo(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks * *request.chunks);
  const double most = std::min(request.memory_cap.value_or(2.0 * request.ranks), double{kMaxPipelineRanks});
  Waves(schedule, request.ranks, std::max(1U, static_cast<std::uint32_t>(most))).run();
  return schedule;
}

}  // namespace plimsoll
