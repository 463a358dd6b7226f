#include "sim/planner/chains/offload_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace plimsoll {
namespace {

constexpr std::int64_t kParts = 4;  // of what a block saves, that many may leave
/// Where a block has more states than this, those alike are thought equal and the fastest stands for them.
constexpr std::size_t kMostStates = 3000;
constexpr std::int64_t kHeldBuckets = 32, kLinkBuckets = 3;
/// Of the times that passed blocks may take again, about so many are tried.
constexpr std::size_t kMostRooms = 8;

/// How the blocks before one can have gone in, with what is known already of the way back.
struct State {
  double seconds = 0;  ///< of both ways
  Bytes kept;          ///< on the device until the way back
  Bytes host;
  double queued = 0;   ///< bytes on the device that are still to leave it
  double due = 0;      ///< bytes that must be back before the last stretch's return
  std::int64_t from = -1;  ///< the state before, in all_
  OffloadStretch stretch;

  [[nodiscard]] bool beats(const State& other) const {
    return seconds <= other.seconds && kept <= other.kept && host <= other.host && queued <= other.queued && due <= other.due;
  }
};

class Search {
 public:
  Search(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget)
      : chain_(chain), curve_(curve), link_(link), budget_(budget), at_(chain.blocks.size() + 1) {}

  std::optional<OffloadPlan> run() {
    at_[0].push_back({});
    for (std::size_t block = 0; block < chain_.blocks.size(); ++block) {
      thin(at_[block]);
      const std::size_t begin = all_.size();
      all_.insert(all_.end(), at_[block].begin(), at_[block].end());
      for (std::size_t i = begin; i < all_.size(); ++i) go_on(i, block);
    }
    return best();
  }

 private:
  [[nodiscard]] double rate() const { return link_.bytes_per_second; }

  void go_on(std::size_t from, std::size_t block) {
    for (std::uint32_t k = 0; k < chain_.blocks[block].options.size(); ++k) save(from, block, k);
    double passing = 0;
    for (std::size_t last = block; last + 1 < chain_.blocks.size(); ++last) {
      passing += chain_.blocks[last].forward_only_seconds;
      pass(from, block, last, passing);
    }
  }

  /// Goes in, waiting for the link where room is short; false when there is none.
  bool enter(State& state, double seconds) const {
    const auto room = static_cast<double>((budget_ - state.kept - room_inward(chain_, state.stretch)).count);
    if (room < 0) return false;
    if (state.queued > room) {
      state.seconds += (state.queued - room) / rate();
      state.queued = room;
    }
    state.seconds += seconds;
    state.queued = std::max(0.0, state.queued - seconds * rate());
    return true;
  }

  void save(std::size_t from, std::size_t block, std::uint32_t k) {
    const ChainOption& option = chain_.blocks[block].options[k];
    const bool leaf = block + 1 == chain_.blocks.size();
    State in = all_[from];
    in.from = static_cast<std::int64_t>(from);
    in.stretch = {.first = block, .last = block, .option = k};
    if (!enter(in, option.forward_seconds + (leaf ? option.backward_seconds : 0))) return;
    if (!leaf) in.seconds += option.backward_seconds;
    const Bytes free = budget_ - in.kept - room_back(chain_, in.stretch);
    const Bytes most = std::max(Bytes(0), option.saved - chain_.boundary(block + 1));
    std::int64_t before = -1;
    for (std::int64_t part = 0; part <= (leaf || rate() <= 0 ? 0 : kParts); ++part) {
      const Bytes sent(most.count * part / kParts);
      if (sent.count == before) continue;
      before = sent.count;
      return_with(in, free, option.backward_seconds, sent);
    }
  }

  void pass(std::size_t from, std::size_t first, std::size_t last, double passing) {
    State in = all_[from];
    in.from = static_cast<std::int64_t>(from);
    in.stretch = {.first = first, .last = last, .saves = false};
    if (!enter(in, passing)) return;
    const StepCurve& again = curve_.of(first, last);
    const Bytes room = budget_ - in.kept;
    Bytes before(-1);
    const std::size_t stride = std::max<std::size_t>(1, again.size() / kMostRooms);
    for (std::size_t i = 0; i < again.size(); i += stride) {  // each time with as much beside it as its room leaves
      const Bytes ahead = most_ahead(in.due, room - again[i].bytes);
      if (ahead.count < 0 || ahead == before) continue;
      before = ahead;
      State out = in;
      const double seconds = step_at(again, room - ahead)->seconds;
      out.seconds += seconds;
      leave(out, ahead, seconds, Bytes(0), chain_.boundary(last + 1));
    }
    if (again.size() > kMostRooms && in.due > 0) exact_ = false;
  }

  /// All of `due` that there is room for; below 0 where the room is.
  static Bytes most_ahead(double due, Bytes free) {
    return std::min(free, Bytes(static_cast<std::int64_t>(std::ceil(due))));
  }

  void return_with(const State& in, Bytes free, double seconds, Bytes sent) {
    if (in.host + sent > link_.host && sent.count > 0) return;
    const Bytes kept = chain_.blocks[in.stretch.first].options[in.stretch.option].saved - sent;
    const Bytes ahead = most_ahead(in.due, free);
    if (ahead.count < 0) return;
    State out = in;
    leave(out, ahead, seconds, sent, kept);
  }

  /// What is due and does not come ahead is waited for.
  void leave(State& out, Bytes ahead, double seconds, Bytes sent, Bytes kept) {
    const auto coming = static_cast<double>(ahead.count);
    if (out.due > coming) out.seconds += (out.due - coming) / rate();
    out.due = static_cast<double>(sent.count) + std::max(0.0, coming - seconds * rate());
    out.stretch.sent = sent;
    out.stretch.ahead = ahead;
    out.kept += kept;
    out.host += sent;
    out.queued += static_cast<double>(sent.count);
    at_[out.stretch.last + 1].push_back(out);
  }

  void thin(std::vector<State>& states) {
    if (states.size() > kMostStates) keep_one_a_bucket(states);
    std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
      return std::tie(a.seconds, a.kept, a.host, a.queued, a.due) < std::tie(b.seconds, b.kept, b.host, b.queued, b.due);
    });
    std::vector<State> left;
    for (const State& state : states) {
      if (std::none_of(left.begin(), left.end(), [&](const State& other) { return other.beats(state); })) left.push_back(state);
    }
    states = std::move(left);
  }

  void keep_one_a_bucket(std::vector<State>& states) {
    exact_ = false;
    const auto all = static_cast<double>(budget_.count);
    const auto bucket = [](double part, std::int64_t buckets) {
      return static_cast<std::int64_t>(std::ceil(std::clamp(part, 0.0, 1.0) * static_cast<double>(buckets)));
    };
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, State> fastest;
    for (const State& state : states) {
      const auto key = std::tuple(bucket(static_cast<double>(state.kept.count) / all, kHeldBuckets),
                                  bucket(state.queued / all, kLinkBuckets), bucket(state.due / all, kLinkBuckets));
      const auto [place, is_new] = fastest.emplace(key, state);
      if (!is_new && state.seconds < place->second.seconds) place->second = state;
    }
    states.clear();
    for (auto& [key, state] : fastest) states.push_back(state);
  }

  /// At the end, what is still to leave or to come back is waited for.
  std::optional<OffloadPlan> best() {
    const State* found = nullptr;
    double seconds = std::numeric_limits<double>::infinity();
    for (const State& state : at_.back()) {
      const double more = rate() > 0 ? (state.queued + state.due) / rate() : 0;
      if (state.seconds + more < seconds) found = &state, seconds = state.seconds + more;
    }
    if (found == nullptr) return std::nullopt;
    OffloadPlan plan{.exact = exact_ && curve_.exact()};
    for (const State* state = found;; state = &all_[static_cast<std::size_t>(state->from)]) {
      if (state->from < 0) break;
      plan.stretches.push_back(state->stretch);
    }
    std::reverse(plan.stretches.begin(), plan.stretches.end());
    const auto replay = replay_offload(chain_, curve_, link_, budget_, plan.stretches);
    if (!replay) return std::nullopt;
    plan.replay = *replay;
    return plan;
  }

  const BlockChain& chain_;
  const ChainCurve& curve_;
  const ChainLink& link_;
  Bytes budget_;
  std::vector<std::vector<State>> at_;  ///< by block: before it goes in
  std::vector<State> all_;              ///< those that were gone on from
  bool exact_ = true;
};

/// The curve's own schedule up to the last block, as stretches.
std::optional<OffloadPlan> without_link(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget) {
  if (step_at(curve.steps(), budget) == nullptr) return std::nullopt;
  OffloadPlan plan;
  for (const ChainOp& op : curve.schedule(budget)) {
    if (op.work == ChainWork::kBackward) break;
    const std::size_t block = op.block.index;
    if (op.work == ChainWork::kPass) plan.stretches.back().last = block;
    else plan.stretches.push_back({.first = block, .last = block, .saves = op.work == ChainWork::kSave, .option = op.option});
  }
  const auto replay = replay_offload(chain, curve, link, budget, plan.stretches);
  if (!replay) return std::nullopt;
  plan.replay = *replay;
  return plan;
}

}  // namespace

std::optional<OffloadPlan> offload_chain(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget) {
  std::optional<OffloadPlan> found = Search(chain, curve, link, budget).run();
  std::optional<OffloadPlan> kept = without_link(chain, curve, link, budget);
  const bool exact = found && found->exact;
  if (kept && (!found || kept->replay.seconds < found->replay.seconds)) found = std::move(kept);
  if (found) found->exact = exact;
  return found;
}

}  // namespace plimsoll
