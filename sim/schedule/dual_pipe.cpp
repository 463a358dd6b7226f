#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

/// An entry in terms of the way there (side 0) and the way back (side 1); stages come later.
struct SideOp {
  PipelineWork work;
  bool with_next;
  std::uint32_t side;
  std::uint32_t micro_batch;
};

/// The eight steps of one rank (DeepSeek-AI, "DualPipe", 2025), `ranks` deep, `count` micro-batches on each side.
class DualPipeRank {
 public:
  DualPipeRank(std::uint32_t ranks, std::uint32_t rank, std::uint32_t count, bool overlapped)
      : overlapped_(overlapped), is_middle_(rank + 1 == ranks), odd_(rank % 2 == 1) {
    const std::uint32_t before = ranks - rank - 1;  // ranks between this one and the turn
    const std::uint32_t after = rank + 1;
    repeat(2 * before, [&] { forward(0); });
    repeat(after, [&] { forward(0), forward(1); });
    repeat(before, [&] { input(1), weight(), forward(1); });
    steady(count + rank + 1 - 2 * ranks);
    repeat(before, [&] { whole_backward(1), pair(1, 0); });
    turn_to_inputs(after);
    repeat(before, [&] { weight(), input(0); });
    while (!waiting_.empty()) weight();
  }

  [[nodiscard]] const std::vector<SideOp>& ops() const { return ops_; }

 private:
  template <typename Body>
  static void repeat(std::uint32_t times, Body body) {
    for (std::uint32_t i = 0; i < times; ++i) body();
  }

  void steady(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
      if (i == 0 && is_middle_) {
        forward(0);  // its own result is what the backward would start from
        whole_backward(1);
      } else {
        pair(0, 1);
      }
      pair(1, 0);
    }
  }

  /// The last whole backwards; from the middle on, weight gradients wait to fill the gaps that follow.
  void turn_to_inputs(std::uint32_t times) {
    bool inputs_only = false;
    for (std::uint32_t i = 0; i < times; ++i) {
      if (i == times / 2 && odd_) inputs_only = true;
      inputs_only ? input(1) : whole_backward(1);
      if (i == times / 2 && !odd_) inputs_only = true;
      inputs_only ? input(0) : whole_backward(0);
    }
  }

  void forward(std::uint32_t side, bool with_next = false) {
    ops_.push_back({PipelineWork::kForward, with_next, side, forwards_[side]++});
  }

  void input(std::uint32_t side) {
    const std::uint32_t micro_batch = backwards_[side]++;
    ops_.push_back({PipelineWork::kInputGradient, false, side, micro_batch});
    waiting_.push_back({PipelineWork::kWeightGradient, false, side, micro_batch});
  }

  void weight() {
    ops_.push_back(waiting_.front());
    waiting_.pop_front();
  }

  /// A backward that ends before anything else starts: B where pairs are overlapped, else I and W.
  void whole_backward(std::uint32_t side) {
    const std::uint32_t micro_batch = backwards_[side]++;
    if (overlapped_) {
      ops_.push_back({PipelineWork::kBackward, false, side, micro_batch});
    } else {
      ops_.push_back({PipelineWork::kInputGradient, false, side, micro_batch});
      ops_.push_back({PipelineWork::kWeightGradient, false, side, micro_batch});
    }
  }

  void pair(std::uint32_t forward_side, std::uint32_t backward_side) {
    forward(forward_side, overlapped_);
    whole_backward(backward_side);
  }

  bool overlapped_;
  bool is_middle_;
  bool odd_;
  std::uint32_t forwards_[2] = {0, 0};
  std::uint32_t backwards_[2] = {0, 0};
  std::deque<SideOp> waiting_;
  std::vector<SideOp> ops_;
};

tl::unexpected<Error> refuse(const char* where, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

}  // namespace

/// Each micro-batch goes down the ranks and back up: rank r holds the stages r and 2p − 1 − r.
Result<PipelineSchedule> make_dualpipe_v(const ScheduleRequest& request) {
  const std::uint32_t ranks = request.ranks;
  if (request.micro_batches < 2 * ranks) {
    return refuse("--micro-batches",
                  fmt::format("dualpipe-v needs at least {} micro-batches for {} ranks, not {}", 2 * ranks, ranks,
                              request.micro_batches),
                  fmt::format("take --micro-batches {}", 2 * ranks));
  }
  PipelineSchedule schedule = empty_schedule(request, 2 * ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const DualPipeRank made(ranks, rank, request.micro_batches, request.overlapped);
    for (const SideOp& op : made.ops()) {
      const StageId stage(op.side == 0 ? rank : 2 * ranks - 1 - rank);
      schedule.orders[rank].push_back({op.work, op.with_next, stage, MicroBatchId(op.micro_batch)});
    }
  }
  return schedule;
}

/// Two pipelines in opposite directions: rank r holds stage r for the first half of the micro-batches, which go down,
/// and stage p − 1 − r for the other half, which go up. Either half of the ranks does what the ranks of DualPipeV do.
Result<PipelineSchedule> make_dualpipe(const ScheduleRequest& request) {
  const std::uint32_t ranks = request.ranks;
  if (ranks % 2 != 0) {
    return refuse("--stages", fmt::format("dualpipe needs an even number of ranks, not {}", ranks),
                  fmt::format("take --stages {} or {}", std::max(ranks - 1, 2U), ranks + 1));
  }
  if (request.micro_batches % 2 != 0 || request.micro_batches < 2 * ranks) {
    const std::uint32_t even = request.micro_batches / 2 * 2;
    return refuse("--micro-batches",
                  fmt::format("dualpipe needs an even number of micro-batches, at least {} for {} ranks, not {}",
                              2 * ranks, ranks, request.micro_batches),
                  even >= 2 * ranks ? fmt::format("take --micro-batches {} or {}", even, even + 2)
                                    : fmt::format("take --micro-batches {}", 2 * ranks));
  }
  const std::uint32_t half = request.micro_batches / 2;
  PipelineSchedule schedule = empty_schedule(request, ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool upper = rank >= ranks / 2;  // here the way up begins
    const DualPipeRank made(ranks / 2, upper ? ranks - 1 - rank : rank, half, request.overlapped);
    for (const SideOp& op : made.ops()) {
      const bool goes_up = (op.side == 1) != upper;
      const StageId stage(goes_up ? ranks - 1 - rank : rank);
      schedule.orders[rank].push_back(
          {op.work, op.with_next, stage, MicroBatchId(goes_up ? half + op.micro_batch : op.micro_batch)});
    }
  }
  return schedule;
}

}  // namespace plimsoll
