#include "sim/planner/refine_candidates.h"

#include <algorithm>

#include "core/graph/optimizer_state.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/strategy_moves.h"

namespace plimsoll {
namespace {

/// A move must gain at least one part in so many: what is less is beyond what a prediction means.
constexpr std::int64_t kLeastGain = 1000;
/// A strategy that is looked at to the end, and one of which only the busiest queue is added up, in parts of the budget.
constexpr std::size_t kLookCost = 4;
constexpr std::size_t kGlanceCost = 1;
/// Of the budget that moves have, jumps have one part in so many besides.
constexpr std::size_t kJumpShare = 4;

bool is_less(std::int64_t after, std::int64_t before) { return after < before - before / kLeastGain; }

Bytes total_needed(const Candidate& candidate) {
  Bytes total;
  for (const SpaceNeed& need : candidate.needs) total += need.needed;
  return total;
}

/// Of two that do not fit: the one that is short of less or, where neither is, needs less of all memories together. What
/// that frees may be where nothing is missing, but states can move there from where something is.
bool comes_nearer(const Candidate& to, const Candidate& from) {
  const Bytes before = from.shortfall(), after = to.shortfall();
  if (is_less(after.count, before.count)) return true;
  return after <= before && total_needed(to) < total_needed(from);
}

bool gains(const Candidate& to, const Candidate& from) {
  if (to.glanced) return false;
  if (to.fits() != from.fits()) return to.fits();
  return to.fits() ? is_less(to.step->count, from.step->count) : comes_nearer(to, from);
}

/// What lasts of one transformer block.
struct BlockBytes {
  std::int64_t weights = 1;  ///< that compute reads
  std::int64_t states = 1;   ///< the optimizer's, with weights of its own
};

BlockBytes block_bytes(const SearchProblem& problem) {
  const ParameterLayout layout = lay_out_parameters(problem.spec, problem.recipe.adapter);
  BlockBytes bytes;
  for (const ParameterGroup& group : layout.groups) {
    if (group.block != 0) continue;
    bytes.weights += bytes_of_state(problem.recipe, group, TensorKind::kParameter).count;
    if (group.frozen) continue;
    for (const TensorKind kind : {TensorKind::kMaster, TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
      bytes.states += bytes_of_state(problem.recipe, group, kind).count;
    }
  }
  return bytes;
}

/// How many blocks a room holds; of what is missing, how many have to go.
std::int64_t whole_blocks(std::int64_t room, std::int64_t of_each) {
  return room >= 0 ? room / of_each : -((-room + of_each - 1) / of_each);
}

/// A walk through the space of strategies; positions are indices into the search's candidates.
class LocalSearch {
 public:
  LocalSearch(const SearchProblem& problem, const RefineOptions& options, std::vector<Candidate>& candidates)
      : problem_(problem),
        options_(options),
        candidates_(candidates),
        limits_{problem.spec.blocks(), problem.recipe.accumulate, problem.platform.space(SpaceKind::kSsd).has_value(),
                problem.recipe.adapter.exists(), problem.recipe.delay > 0, options.visits},
        block_(block_bytes(problem)),
        left_(options.evaluations * kLookCost) {
    for (const Candidate& candidate : candidates) {
      if (!options.tight || !candidate.loose) known_.push_back(candidate.strategy);
    }
  }

  /// Step by step to where no move gains; then once more from the same places, and from the best one, by jumps too.
  /// What is known by then costs nothing.
  Result<void> run() {
    choose_starts();
    const std::vector<std::size_t> starts = walkers_;
    if (const auto walked = walk(); !walked) return walked;
    if (candidates_.empty() || options_.tight) return {};
    jumping_ = true;
    left_ += options_.evaluations * kLookCost / kJumpShare;
    walkers_ = {static_cast<std::size_t>(std::min_element(candidates_.begin(), candidates_.end(), better) - candidates_.begin())};
    walkers_.insert(walkers_.end(), starts.begin(), starts.end());
    return walk();
  }

 private:
  Result<void> walk() {
    while (!walkers_.empty() && left_ > 0) {
      if (options_.memory && something_fits()) return {};
      if (const auto looked = look_around(); !looked) return looked;
      step();
    }
    return {};
  }

  void choose_starts() {
    walkers_ = options_.from;
    if (!walkers_.empty()) return;
    std::vector<std::size_t> order(candidates_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (options_.only_visits) std::erase_if(order, [&](std::size_t i) { return candidates_[i].glanced || candidates_[i].strategy.device_update_blocks == 0; });
    if (order.empty()) return;
    if (!options_.visits) std::erase_if(order, [&](std::size_t i) { return candidates_[i].strategy.device_update_blocks > 0; });
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return better(candidates_[a], candidates_[b]); });
    for (const std::size_t i : order) {
      const bool family_walks = std::any_of(walkers_.begin(), walkers_.end(), [&](std::size_t walker) {
        return candidates_[walker].strategy.name == candidates_[i].strategy.name;
      });
      // Where nothing fits, the least shortfall need not lead to a plan that fits: a memory that is left empty may.
      const std::size_t most = candidates_[order.front()].fits() ? options_.starts : 2 * options_.starts;
      if (!family_walks && walkers_.size() < most) walkers_.push_back(i);
    }
  }

  [[nodiscard]] bool known(const Strategy& strategy) const {
    return std::find(known_.begin(), known_.end(), strategy) != known_.end();
  }

  /// With the room that the candidate leaves, in blocks.
  [[nodiscard]] MoveLimits limits_of(const Candidate& candidate) const {
    MoveLimits limits = limits_;
    const bool streamed = candidate.strategy.parameters != Tier::kDevice;
    for (const SpaceNeed& need : candidate.needs) {
      const std::int64_t room = (need.usable - need.needed).count;
      const SpaceKind kind = problem_.platform.at(need.space).kind;
      if (kind == SpaceKind::kHost) limits.host_state_room = whole_blocks(room, block_.states);
      if (kind != SpaceKind::kDevice) continue;
      limits.device_parameter_room = whole_blocks(room, block_.weights);
      limits.device_state_room = whole_blocks(room, block_.states + (streamed ? block_.weights : 0));
    }
    return limits;
  }

  [[nodiscard]] std::vector<Strategy> moves_of(std::size_t walker) const {
    std::vector<Strategy> moves = moves_from(candidates_[walker].strategy, limits_of(candidates_[walker]));
    if (jumping_) {
      for (Strategy& jump : jumps_from(candidates_[walker].strategy, limits_)) moves.push_back(std::move(jump));
    }
    if (options_.only_visits) std::erase_if(moves, [](const Strategy& s) { return s.device_update_blocks == 0; });
    if (!options_.family.empty()) std::erase_if(moves, [&](const Strategy& s) { return s.name != options_.family; });
    return moves;
  }

  Result<void> look_around() {
    std::vector<Strategy> unseen;
    for (const std::size_t walker : walkers_) {
      for (const Strategy& move : moves_of(walker)) {
        if (known(move)) continue;
        known_.push_back(move);
        unseen.push_back(move);
      }
    }
    const std::size_t most = std::max<std::size_t>(1, left_ / kGlanceCost);
    if (unseen.size() > most) unseen.resize(most);
    const std::size_t before = candidates_.size();
    const Look look{.glance = something_fits(),
                    .memory = options_.memory,
                    .tight = options_.tight,
                    .short_of = most_short_walker(),
                    .below = slowest_walker()};
    auto looked = try_all(problem_, unseen, look, options_.threads, candidates_);
    for (std::size_t i = before; i < candidates_.size(); ++i) {
      const bool passed_over = candidates_[i].glanced && !candidates_[i].step && look.glance;
      const std::size_t cost = passed_over ? 0 : candidates_[i].glanced && candidates_[i].step ? kGlanceCost : kLookCost;
      left_ -= std::min(left_, cost);
    }
    return looked;
  }

  [[nodiscard]] bool something_fits() const {
    return std::any_of(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.fits(); });
  }

  /// What is short of as much by its lasting state alone is not looked at further, where none of the walkers fits.
  [[nodiscard]] std::optional<Bytes> most_short_walker() const {
    Bytes most;
    for (const std::size_t walker : walkers_) {
      if (candidates_[walker].fits()) return std::nullopt;
      most = std::max(most, candidates_[walker].shortfall());
    }
    return most;
  }

  /// A step that helps no walker, where all of them fit.
  [[nodiscard]] std::optional<Nanoseconds> slowest_walker() const {
    Nanoseconds slowest;
    for (const std::size_t walker : walkers_) {
      if (!candidates_[walker].fits()) return std::nullopt;
      slowest = std::max(slowest, *candidates_[walker].step);
    }
    return slowest;
  }

  /// Moves each walker to the best place beside it; one that gains nothing, or comes where another stands, ends.
  void step() {
    std::vector<std::size_t> walking;
    for (const std::size_t walker : walkers_) {
      const std::size_t best = best_beside(walker);
      if (best == walker || std::find(walking.begin(), walking.end(), best) != walking.end()) continue;
      walking.push_back(best);
    }
    walkers_ = std::move(walking);
  }

  [[nodiscard]] std::size_t best_beside(std::size_t walker) const {
    std::size_t best = walker;
    const std::vector<Strategy> moves = moves_of(walker);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!gains(candidates_[i], candidates_[best])) continue;
      if (std::find(moves.begin(), moves.end(), candidates_[i].strategy) != moves.end()) best = i;
    }
    return best;
  }

  const SearchProblem& problem_;
  const RefineOptions& options_;
  std::vector<Candidate>& candidates_;
  MoveLimits limits_;
  BlockBytes block_;
  std::size_t left_;
  std::vector<Strategy> known_;
  std::vector<std::size_t> walkers_;
  bool jumping_ = false;
};

}  // namespace

bool better(const Candidate& a, const Candidate& b) {
  if (a.fits() != b.fits()) return a.fits();
  return a.fits() ? *a.step < *b.step : a.shortfall() < b.shortfall();
}

Result<void> try_all(const SearchProblem& problem, const std::vector<Strategy>& strategies, const Look& look, unsigned threads,
                     std::vector<Candidate>& candidates) {
  std::vector<std::optional<Result<Candidate>>> tried(strategies.size());
  parallel_for(strategies.size(), [&](std::size_t i) { tried[i] = try_strategy(problem, strategies[i], look); }, threads);
  for (std::optional<Result<Candidate>>& one : tried) {
    if (one->has_value()) {
      candidates.push_back(std::move(**one));
    } else if (one->error().kind != ErrorKind::kInput) {
      return fail(one->error());
    }
  }
  if (candidates.empty() && !tried.empty()) return fail(tried.front()->error());
  return {};
}

Result<void> refine_candidates(const SearchProblem& problem, const RefineOptions& options, std::vector<Candidate>& candidates) {
  return LocalSearch(problem, options, candidates).run();
}

}  // namespace plimsoll
