#include "sim/planner/chains/chain_curve.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// Choices of a step: an option of the first block, which saves now; or, with this bit, the block at which the stretch
/// is cut.
constexpr std::uint32_t kCut = std::uint32_t{1} << 31;

constexpr Bytes kNoMore{std::numeric_limits<std::int64_t>::max()};

/// A bound on the steps of each curve that keeps the work, which grows as blocks³ times it, to about a second.
std::size_t steps_for(std::size_t blocks) {
  constexpr double kWork = 1.5e9;
  const auto length = static_cast<double>(blocks);
  return static_cast<std::size_t>(std::clamp(kWork / (length * length * length), 48.0, 4096.0));
}

double fastest_option(const ChainBlock& block) {
  double least = std::numeric_limits<double>::infinity();
  for (const ChainOption& option : block.options) least = std::min(least, option.forward_seconds + option.backward_seconds);
  return least;
}

/// `rest`, beside which `more` bytes are held and `seconds` pass, where at least `floor` bytes are there.
void shift_curve(const StepCurve& rest, Bytes more, double seconds, Bytes floor, std::uint32_t choice, StepCurve& out) {
  out.clear();
  for (const CurveStep& step : rest) {
    const Bytes bytes = std::max(step.bytes + more, floor);
    if (!out.empty() && out.back().bytes == bytes) out.pop_back();
    out.push_back({bytes, step.seconds + seconds, choice});
  }
}

/// A place on a curve beside which `more` bytes are held, that goes to more and more bytes.
class Walk {
 public:
  Walk(const StepCurve& curve, Bytes more)
      : at_(curve.data()), last_(curve.empty() ? at_ : at_ + curve.size() - 1), more_(more), none_(curve.empty()) {}
  [[nodiscard]] bool begun(Bytes bytes) const { return !none_ && at_->bytes + more_ <= bytes; }
  [[nodiscard]] double seconds() const { return at_->seconds; }
  /// That many steps on, or at the end.
  [[nodiscard]] double seconds(std::size_t run) const { return ahead(run).seconds; }
  [[nodiscard]] Bytes next(std::size_t run) const {
    return static_cast<std::size_t>(last_ - at_) >= run ? at_[run].bytes + more_ : kNoMore;
  }
  /// The last step that `bytes` are enough for, where that is close.
  void step(Bytes bytes) {
    while (at_ != last_ && at_[1].bytes + more_ <= bytes) ++at_;
  }
  /// The same wherever it is.
  void reach(Bytes bytes) {
    const Bytes own = bytes - more_;
    std::size_t width = 1;
    while (has(width, own)) at_ += width, width *= 2;
    for (width /= 2; width > 0; width /= 2) {
      if (has(width, own)) at_ += width;
    }
  }

 private:
  [[nodiscard]] bool has(std::size_t width, Bytes own) const {
    return static_cast<std::size_t>(last_ - at_) >= width && at_[width].bytes <= own;
  }
  [[nodiscard]] const CurveStep& ahead(std::size_t run) const {
    return at_[std::min(run, static_cast<std::size_t>(last_ - at_))];
  }

  const CurveStep* at_;
  const CurveStep* last_;
  Bytes more_;
  bool none_;
};

/// Two stretches, one after the other: while the blocks of `later` run, `kept` bytes are held for those of `earlier`.
struct Cut {
  const StepCurve& later;
  const StepCurve& earlier;
  Bytes kept;
  double seconds;  ///< of the forwards up to the cut
  std::uint32_t choice;

  [[nodiscard]] Bytes begin(Bytes floor) const {
    return std::max({later.front().bytes + kept, earlier.front().bytes, floor});
  }
  [[nodiscard]] double least_seconds() const { return seconds + later.back().seconds + earlier.back().seconds; }

  /// The sum of both from `bytes` on, where it is below `known`. Where it is above by much, whole runs of steps are passed at
  /// once: neither sum falls below what it is at a run's end, nor does `known` rise above what it is at its beginning.
  void sum_below(const StepCurve& known, Bytes bytes, StepCurve& out) const {
    out.clear();
    Walk late(later, kept), early(earlier, Bytes(0)), low(known, Bytes(0));
    late.reach(bytes), early.reach(bytes), low.reach(bytes);
    for (std::size_t run = 1; bytes != kNoMore; run = std::min(2 * run, kLongestRun)) {
      const bool is_known = low.begun(bytes);
      const double sum = seconds + late.seconds() + early.seconds();
      const bool below = !is_known || sum < low.seconds();
      if (below) out.push_back({bytes, sum, choice});
      if (below) run = 1;
      while (run > 1 && seconds + late.seconds(run) + early.seconds(run) < low.seconds()) run /= 2;
      bytes = std::min(late.next(run), early.next(run));
      if (run == 1) {
        late.step(bytes), early.step(bytes), low.step(bytes);
      } else {
        late.reach(bytes), early.reach(bytes), low.reach(bytes);
      }
    }
  }

 private:
  static constexpr std::size_t kLongestRun = 1024;
};

}  // namespace

ChainCurve::ChainCurve(const BlockChain& chain, const ChainCurveLimits& limits)
    : chain_(chain), least_(blocks() + 1), passed_(blocks() + 1), room_inside_(blocks()), cells_(blocks() * blocks()) {
  const std::size_t most = limits.most_steps > 0 ? limits.most_steps : steps_for(blocks());
  for (std::size_t i = 0; i < blocks(); ++i) {
    passed_[i + 1] = passed_[i] + chain_.blocks[i].forward_only_seconds;
    least_[i + 1] = least_[i] + fastest_option(chain_.blocks[i]);
  }
  std::atomic<bool> exact = true;
  for (std::size_t length = 1; length <= blocks(); ++length) {
    parallel_for(
        blocks() - length + 1,
        [&](std::size_t first) {
          StepCurve curve = length == 1 ? one_block(first) : stretch(first, first + length - 1);
          leave_out(first, first + length - 1, limits, curve);
          if (thin(curve, most, limits.way)) exact = false;
          cells_[index(first, first + length - 1)].assign(curve.begin(), curve.end());  // no larger than it must be
        },
        limits.threads);
  }
  exact_ = exact;
}

/// All other blocks take their fastest option's time at the least, whatever else is done. One step stays, so that the stretch
/// has a curve; no schedule within the limits takes it where it is beyond them.
void ChainCurve::leave_out(std::size_t first, std::size_t last, const ChainCurveLimits& limits, StepCurve& curve) const {
  constexpr double kRounding = 1e-12;  // sums are made in another order
  const double others = least_.back() - (least_[last + 1] - least_[first]);
  const double slowest = limits.most_seconds * (1 + kRounding) - others * (1 - kRounding);
  const auto slow = [&](const CurveStep& step) { return step.seconds > slowest; };
  const auto within = [&](const CurveStep& step) { return step.bytes <= limits.most_bytes; };
  const auto begin = std::min(std::partition_point(curve.begin(), curve.end(), slow), curve.end() - 1);
  const auto end = std::max(begin + 1, std::partition_point(curve.begin(), curve.end(), within));
  curve.erase(end, curve.end());
  curve.erase(curve.begin(), begin);
}

StepCurve ChainCurve::one_block(std::size_t block) const {
  StepCurve curve, scratch;
  const auto& options = chain_.blocks[block].options;
  for (std::uint32_t k = 0; k < options.size(); ++k) {
    const Bytes temporary = std::max(options[k].forward_temporary, options[k].backward_temporary);
    const CurveStep step{chain_.boundary(block) + options[k].saved + temporary,
                         options[k].forward_seconds + options[k].backward_seconds, k};
    lower_by(curve, {&step, 1}, scratch);
  }
  return curve;
}

/// Room to pass all blocks of the stretch but the last, beside which the gradient at its end waits.
Bytes ChainCurve::room_to_pass(std::size_t first, std::size_t last) {
  Bytes& inside = room_inside_[first];
  if (last - 1 > first) {
    const Bytes both = chain_.boundary(last - 1) + chain_.boundary(last);
    inside = std::max(inside, both + chain_.blocks[last - 1].forward_only_temporary);
  }
  return chain_.boundary(last + 1) +
         std::max(inside, chain_.boundary(first + 1) + chain_.blocks[first].forward_only_temporary);
}

/// The blocks at which the stretch may be cut, those first that are taken most often by the two stretches that are one block
/// shorter: where the curve is low early on, the sums of other cuts are passed over in long runs.
std::vector<std::size_t> ChainCurve::cuts_by_promise(std::size_t first, std::size_t last) const {
  std::vector<std::size_t> taken(last + 1, 0), cuts(last - first);
  for (const StepCurve* shorter : {&cell(first + 1, last), &cell(first, last - 1)}) {
    for (const CurveStep& step : *shorter) {
      if ((step.choice & kCut) != 0) ++taken[step.choice & ~kCut];
    }
  }
  std::iota(cuts.begin(), cuts.end(), first + 1);
  std::stable_sort(cuts.begin(), cuts.end(), [&](std::size_t a, std::size_t b) { return taken[a] > taken[b]; });
  return cuts;
}

StepCurve ChainCurve::stretch(std::size_t first, std::size_t last) {
  const Bytes floor = room_to_pass(first, last);
  StepCurve curve, other, scratch;
  const auto& options = chain_.blocks[first].options;
  for (std::uint32_t k = 0; k < options.size(); ++k) {
    const ChainOption& option = options[k];
    const Bytes need = option.saved + std::max(chain_.boundary(first + 1) + option.forward_temporary,
                                               chain_.boundary(first) + option.backward_temporary);
    shift_curve(cell(first + 1, last), option.saved, option.forward_seconds + option.backward_seconds,
                std::max(need, floor), k, other);
    lower_by(curve, other, scratch);
  }
  for (const std::size_t at : cuts_by_promise(first, last)) {
    const Cut cut{cell(at, last), cell(first, at - 1), chain_.boundary(at), passed_[at] - passed_[first],
                  kCut | static_cast<std::uint32_t>(at)};
    const Bytes begin = cut.begin(floor);
    const CurveStep* known = step_at(curve, begin);
    if (known != nullptr && known->seconds <= cut.least_seconds()) continue;  // nowhere lower
    cut.sum_below(curve, begin, other);
    if (!other.empty()) lower_by(curve, other, scratch);
  }
  return curve;
}

ChainSchedule ChainCurve::schedule(Bytes budget) const {
  ChainSchedule schedule;
  append(0, blocks() - 1, budget, schedule);
  return schedule;
}

void ChainCurve::append(std::size_t first, std::size_t last, Bytes bytes, ChainSchedule& schedule) const {
  const CurveStep& step = *step_at(cell(first, last), bytes);
  if ((step.choice & kCut) == 0) {
    schedule.push_back({ChainWork::kSave, ChainBlockId(first), step.choice});
    if (first < last) {
      append(first + 1, last, step.bytes - chain_.blocks[first].options[step.choice].saved, schedule);
    }
    schedule.push_back({ChainWork::kBackward, ChainBlockId(first)});
    return;
  }
  const std::size_t cut = step.choice & ~kCut;
  schedule.push_back({ChainWork::kCheckpoint, ChainBlockId(first)});
  for (std::size_t block = first + 1; block < cut; ++block) schedule.push_back({ChainWork::kPass, ChainBlockId(block)});
  append(cut, last, step.bytes - chain_.boundary(cut), schedule);
  append(first, cut - 1, step.bytes, schedule);
}

}  // namespace plimsoll
