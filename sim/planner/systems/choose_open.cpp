#include "sim/planner/systems/choose_open.h"

#include <algorithm>
#include <map>

#include "sim/planner/refine_candidates.h"

namespace plimsoll {
namespace {

/// More kernels than a block has.
constexpr std::int64_t kMostOutputs = 24;

/// The most that a field can say beside the strategy's others.
std::int64_t most_of(std::int64_t Strategy::*field, const Strategy& strategy, std::int64_t layers) {
  if (field == &Strategy::kept_outputs) return kMostOutputs;
  if (field == &Strategy::host_activation_blocks) return strategy.activation_blocks;
  if (field == &Strategy::device_state_blocks) return layers - strategy.host_state_blocks;
  if (field == &Strategy::host_state_blocks) return layers - strategy.device_state_blocks;
  return layers;
}

/// Which memory a larger share fills.
SpaceKind filled_by(std::int64_t Strategy::*field) {
  const bool host = field == &Strategy::host_state_blocks || field == &Strategy::host_activation_blocks;
  return host ? SpaceKind::kHost : SpaceKind::kDevice;
}

/// Looks at values of one field of a strategy, at each once.
class Choice {
 public:
  Choice(const SearchProblem& problem, const Strategy& strategy, const OpenChoice& open)
      : problem_(problem), strategy_(strategy), open_(open) {}

  /// What an unknown cost or a missing part of the machine came to.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  [[nodiscard]] Strategy with(std::int64_t value) const {
    Strategy changed = strategy_;
    changed.*open_.field = value;
    return changed;
  }

  bool fits(std::int64_t value) {
    const Candidate* seen = at(value);
    return seen != nullptr && std::all_of(seen->needs.begin(), seen->needs.end(), [&](const SpaceNeed& need) {
      return need.fits() || problem_.platform.at(need.space).kind != filled_by(open_.field);
    });
  }

  bool is_better(std::int64_t a, std::int64_t b) {
    const Candidate* first = at(a);
    const Candidate* second = at(b);
    return first != nullptr && second != nullptr && better(*first, *second);
  }

 private:
  const Candidate* at(std::int64_t value) {
    const auto known = seen_.find(value);
    if (known != seen_.end()) return &known->second;
    auto tried = try_strategy(problem_, with(value));
    if (!tried) {
      error_ = tried.error();
      return nullptr;
    }
    return &seen_.emplace(value, std::move(*tried)).first->second;
  }

  const SearchProblem& problem_;
  const Strategy& strategy_;
  const OpenChoice& open_;
  std::map<std::int64_t, Candidate> seen_;
  std::optional<Error> error_;
};

}  // namespace

std::int64_t largest_that_holds(std::int64_t low, std::int64_t high, const std::function<bool(std::int64_t)>& holds) {
  if (holds(high)) return high;
  while (high - low > 1) {  // it does not hold at `high`
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

std::int64_t least_of_valley(std::int64_t low, std::int64_t high,
                             const std::function<bool(std::int64_t, std::int64_t)>& less) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (less(middle + 1, middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

Result<Candidate> choose_open(const SearchProblem& problem, const Strategy& strategy, const std::vector<OpenChoice>& open) {
  Strategy chosen = strategy;
  for (const OpenChoice& one : open) {
    const Strategy before = chosen;
    Choice choice(problem, before, one);
    const std::int64_t most = most_of(one.field, before, problem.spec.layers);
    const std::int64_t value =
        one.rule == OpenChoice::Rule::kLargest
            ? largest_that_holds(0, most, [&](std::int64_t n) { return choice.fits(n); })
            : least_of_valley(0, most, [&](std::int64_t a, std::int64_t b) { return choice.is_better(a, b); });
    if (choice.error()) return fail(*choice.error());
    chosen = choice.with(value);
  }
  return try_strategy(problem, chosen);
}

}  // namespace plimsoll
