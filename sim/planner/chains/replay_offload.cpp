#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/planner/chains/offload_chain.h"

namespace plimsoll {
namespace {

constexpr double kSlack = 1e-6;  // bytes, of sums in floating point

tl::unexpected<Error> refuse(std::size_t stretch, std::string what) {
  what = fmt::format("stretch {} {}", stretch, what);
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = "recompute", .remedy = {}});
}

/// Walks the stretches; what it knows of the device is counted here and nowhere else.
class Walk {
 public:
  Walk(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget,
       const std::vector<OffloadStretch>& all)
      : chain_(chain), curve_(curve), link_(link), budget_(budget), all_(all) {}

  Result<OffloadReplay> run() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (const auto in = go_in(i); !in) return fail(in.error());
    }
    if (next_ != chain_.blocks.size()) return refuse(all_.size(), "does not end the chain");
    wait(queued_);
    for (std::size_t i = all_.size(); i-- > 0;) {
      if (const auto back = come_back(i); !back) return fail(back.error());
    }
    return result_;
  }

 private:
  [[nodiscard]] bool is_leaf(std::size_t i) const { return all_[i].first + 1 == chain_.blocks.size(); }
  [[nodiscard]] const ChainOption& option(std::size_t i) const { return chain_.blocks[all_[i].first].options.at(all_[i].option); }

  void wait(double bytes) {
    if (bytes <= 0) return;
    result_.seconds += bytes / link_.bytes_per_second;
    result_.waiting += bytes / link_.bytes_per_second;
    queued_ = std::max(0.0, queued_ - bytes);
  }

  void compute(double seconds) {
    result_.seconds += seconds;
    queued_ = std::max(0.0, queued_ - seconds * link_.bytes_per_second);
  }

  Result<void> hold(std::size_t i, double bytes) {
    if (bytes > static_cast<double>(budget_.count) + kSlack)
      return refuse(i, fmt::format("holds {:.0f} of {} bytes", bytes, budget_.count));
    result_.peak = std::max(result_.peak, Bytes(static_cast<std::int64_t>(std::ceil(bytes - kSlack))));
    return {};
  }

  Result<void> go_in(std::size_t i) {
    const OffloadStretch& stretch = all_[i];
    if (stretch.first != next_ || stretch.last < stretch.first || stretch.last >= chain_.blocks.size())
      return refuse(i, "does not follow");
    const bool leaf = is_leaf(i);
    if (leaf && (!stretch.saves || stretch.sent.count != 0)) return refuse(i, "is the last block, which goes back at once");
    const auto room = static_cast<double>((kept_ + room_inward(chain_, stretch)).count);
    const double over = room + queued_ - static_cast<double>(budget_.count);
    if (over > queued_ + kSlack) return refuse(i, "has no room on the way in");
    wait(over);
    if (const auto held = hold(i, room + queued_); !held) return held;
    before_.push_back(kept_);
    if (stretch.saves) {
      const ChainOption& how = option(i);
      const Bytes output = chain_.boundary(stretch.first + 1);
      if (stretch.sent > how.saved - output && stretch.sent.count > 0) return refuse(i, "sends more than it saves");
      compute(how.forward_seconds + (leaf ? how.backward_seconds : 0));
      kept_ += how.saved - stretch.sent;
      queued_ += static_cast<double>(stretch.sent.count);
      result_.host += stretch.sent;
      if (result_.host > link_.host) return refuse(i, "sends more than the host holds");
    } else {
      for (std::size_t block = stretch.first; block <= stretch.last; ++block) compute(chain_.blocks[block].forward_only_seconds);
      kept_ += chain_.boundary(stretch.last + 1);
    }
    next_ = stretch.last + 1;
    return {};
  }

  /// Of what must be back before this stretch's return, the one after it let `ahead` come; the rest is waited for.
  Result<void> come_back(std::size_t i) {
    const OffloadStretch& stretch = all_[i];
    double seconds = 0;
    const Bytes held = before_[i] + stretch.ahead;
    if (stretch.saves) {
      seconds = option(i).backward_seconds;
      if (const auto fits = hold(i, static_cast<double>((held + room_back(chain_, stretch)).count)); !fits) return fits;
      if (!is_leaf(i)) result_.seconds += seconds;
    } else {
      const CurveStep* again = step_at(curve_.of(stretch.first, stretch.last), budget_ - held);
      if (again == nullptr) return refuse(i, "has no room on the way back");
      seconds = again->seconds;
      result_.seconds += seconds;
      result_.peak = std::max(result_.peak, held + again->bytes);
    }
    const double early = std::max(0.0, static_cast<double>(stretch.ahead.count) - seconds * link_.bytes_per_second);
    const double due = early + static_cast<double>(stretch.sent.count);
    const double there = i + 1 < all_.size() ? static_cast<double>(all_[i + 1].ahead.count) : 0.0;
    if (there > due + 1) return refuse(i + 1, "lets more come back than was sent");
    if (due > there) {
      result_.seconds += (due - there) / link_.bytes_per_second;
      result_.waiting += (due - there) / link_.bytes_per_second;
    }
    return {};
  }

  const BlockChain& chain_;
  const ChainCurve& curve_;
  const ChainLink& link_;
  Bytes budget_;
  const std::vector<OffloadStretch>& all_;
  OffloadReplay result_;
  std::size_t next_ = 0;
  Bytes kept_;
  double queued_ = 0;  ///< bytes on the device that are still to leave it
  std::vector<Bytes> before_;
};

}  // namespace

Bytes room_back(const BlockChain& chain, const OffloadStretch& stretch) {
  const ChainOption& option = chain.blocks[stretch.first].options.at(stretch.option);
  return option.saved + chain.boundary(stretch.first) + option.backward_temporary;
}

/// As ChainCurve's recurrence has it: whatever a stretch does, all blocks but the last could be passed.
Bytes room_inward(const BlockChain& chain, const OffloadStretch& stretch) {
  const std::size_t end = chain.blocks.size(), first = stretch.first;
  const auto saving = [&] { return chain.blocks[first].options.at(stretch.option); };
  if (first + 1 == end) {
    const ChainOption option = saving();
    return chain.boundary(first) + option.saved + std::max(option.forward_temporary, option.backward_temporary);
  }
  Bytes inside = chain.boundary(first + 1) + chain.blocks[first].forward_only_temporary;
  for (std::size_t block = first + 1; block + 1 < end; ++block) {
    inside = std::max(inside, chain.boundary(block) + chain.boundary(block + 1) + chain.blocks[block].forward_only_temporary);
  }
  const Bytes floor = chain.boundary(end) + inside;
  if (!stretch.saves) return floor;
  const ChainOption option = saving();
  return std::max(floor, option.saved + chain.boundary(first + 1) + option.forward_temporary);
}

Result<OffloadReplay> replay_offload(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget,
                                     const std::vector<OffloadStretch>& stretches) {
  return Walk(chain, curve, link, budget, stretches).run();
}

}  // namespace plimsoll
