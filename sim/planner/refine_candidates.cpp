#include "sim/planner/refine_candidates.h"

#include <algorithm>

#include "sim/planner/parallel_for.h"
#include "sim/planner/strategy_moves.h"

namespace plimsoll {
namespace {

constexpr std::size_t kStarts = 3;
/// A move must gain at least one part in so many: what is less is beyond what a prediction means.
constexpr std::int64_t kLeastGain = 1000;

bool gains(const Candidate& to, const Candidate& from) {
  if (to.glanced) return false;
  if (to.fits() != from.fits()) return to.fits();
  const std::int64_t before = from.fits() ? from.step->count : from.shortfall().count;
  const std::int64_t after = to.fits() ? to.step->count : to.shortfall().count;
  return after < before - before / kLeastGain;
}

/// A walk through the space of strategies; positions are indices into the search's candidates.
class LocalSearch {
 public:
  LocalSearch(const SearchProblem& problem, const RefineOptions& options, std::vector<Candidate>& candidates)
      : problem_(problem),
        options_(options),
        candidates_(candidates),
        limits_{problem.spec.layers, problem.recipe.accumulate, problem.platform.space(SpaceKind::kSsd).has_value(),
                problem.recipe.adapter.exists()},
        left_(options.evaluations) {
    for (const Candidate& candidate : candidates) known_.push_back(candidate.strategy);
  }

  Result<void> run() {
    choose_starts();
    while (!walkers_.empty() && left_ > 0) {
      if (const auto looked = look_around(); !looked) return looked;
      step();
    }
    return {};
  }

 private:
  void choose_starts() {
    std::vector<std::size_t> order(candidates_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return better(candidates_[a], candidates_[b]); });
    for (const std::size_t i : order) {
      const bool family_walks = std::any_of(walkers_.begin(), walkers_.end(), [&](std::size_t walker) {
        return candidates_[walker].strategy.name == candidates_[i].strategy.name;
      });
      if (!family_walks && walkers_.size() < kStarts) walkers_.push_back(i);
    }
  }

  [[nodiscard]] bool known(const Strategy& strategy) const {
    return std::find(known_.begin(), known_.end(), strategy) != known_.end();
  }

  [[nodiscard]] std::vector<Strategy> moves_of(std::size_t walker) const {
    std::vector<Strategy> moves = moves_from(candidates_[walker].strategy, limits_);
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
    if (unseen.size() > left_) unseen.resize(left_);
    const std::size_t before = candidates_.size();
    const bool something_fits = std::any_of(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.fits(); });
    auto looked = try_all(problem_, unseen, something_fits, options_.threads, candidates_);
    left_ -= static_cast<std::size_t>(std::count_if(candidates_.begin() + static_cast<std::ptrdiff_t>(before), candidates_.end(),
                                                    [](const Candidate& c) { return !c.glanced; }));
    return looked;
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
  std::size_t left_;
  std::vector<Strategy> known_;
  std::vector<std::size_t> walkers_;
};

}  // namespace

bool better(const Candidate& a, const Candidate& b) {
  if (a.fits() != b.fits()) return a.fits();
  return a.fits() ? *a.step < *b.step : a.shortfall() < b.shortfall();
}

Result<void> try_all(const SearchProblem& problem, const std::vector<Strategy>& strategies, bool glance, unsigned threads,
                     std::vector<Candidate>& candidates) {
  std::vector<std::optional<Result<Candidate>>> tried(strategies.size());
  parallel_for(strategies.size(), [&](std::size_t i) { tried[i] = try_strategy(problem, strategies[i], glance); }, threads);
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
