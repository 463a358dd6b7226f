#include "sim/planner/systems/choose_open.h"

#include <algorithm>
#include <limits>
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
  if (field == &Strategy::device_state_blocks) return layers - std::max(strategy.host_state_blocks, strategy.device_update_blocks);
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
  Choice(const SearchProblem& problem, const Strategy& strategy, const OpenChoice& open, const Look& look)
      : problem_(problem), strategy_(strategy), open_(open), look_(look) {}

  /// What an unknown cost or a missing part of the machine came to.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  [[nodiscard]] Strategy with(std::int64_t value) const {
    Strategy changed = strategy_;
    changed.*open_.field = value;
    return changed;
  }

  /// What is left of the memory that is filled, below 0 what is missing; of what lasts alone where that is too much.
  std::int64_t room(std::int64_t value) {
    const auto lasting = lasting_needs(problem_, with(value));
    if (!lasting) {
      error_ = lasting.error();
      return -1;
    }
    if (const std::int64_t left = left_of(*lasting); left < 0) return left;
    const Candidate* seen = at(value);
    return seen == nullptr ? -1 : left_of(seen->needs);
  }

  bool is_better(std::int64_t a, std::int64_t b) {
    const Candidate* first = at(a);
    const Candidate* second = at(b);
    return first != nullptr && second != nullptr && better(*first, *second);
  }

 private:
  [[nodiscard]] std::int64_t left_of(const std::vector<SpaceNeed>& needs) const {
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    for (const SpaceNeed& need : needs) {
      if (problem_.platform.at(need.space).kind == filled_by(open_.field))
        left = std::min(left, (need.usable - need.needed).count);
    }
    return left;
  }

  const Candidate* at(std::int64_t value) {
    const auto known = seen_.find(value);
    if (known != seen_.end()) return &known->second;
    auto tried = try_strategy(problem_, with(value), look_);
    if (!tried) {
      error_ = tried.error();
      return nullptr;
    }
    return &seen_.emplace(value, std::move(*tried)).first->second;
  }

  const SearchProblem& problem_;
  const Strategy& strategy_;
  const OpenChoice& open_;
  const Look& look_;
  std::map<std::int64_t, Candidate> seen_;
  std::optional<Error> error_;
};

}  // namespace

std::int64_t largest_with_room(std::int64_t low, std::int64_t high, const std::function<std::int64_t(std::int64_t)>& room) {
  double above = static_cast<double>(room(high));
  if (above >= 0 || high <= low) return above >= 0 ? high : low;
  double below = static_cast<double>(room(low));
  for (int asked = 1; below >= 0 && high - low > 1; ++asked) {
    const double share = asked % 3 == 0 ? 0.5 : below / (below - above);
    const auto middle = std::clamp(low + static_cast<std::int64_t>(share * static_cast<double>(high - low)), low + 1, high - 1);
    const auto left = static_cast<double>(room(middle));
    (left >= 0 ? low : high) = middle;
    (left >= 0 ? below : above) = left;
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

Result<Candidate> choose_open(const SearchProblem& problem, const Strategy& strategy, const std::vector<OpenChoice>& open,
                              const Look& look) {
  Strategy chosen = strategy;
  for (const OpenChoice& one : open) {
    const Strategy before = chosen;
    const bool share = one.rule == OpenChoice::Rule::kLargest;
    const Look of_memory{.memory = true};
    Choice choice(problem, before, one, share ? of_memory : look);
    const std::int64_t most = most_of(one.field, before, problem.spec.blocks());
    const std::int64_t value =
        share
            ? largest_with_room(0, most, [&](std::int64_t n) { return choice.room(n); })
            : least_of_valley(0, most, [&](std::int64_t a, std::int64_t b) { return choice.is_better(a, b); });
    if (choice.error()) return fail(*choice.error());
    chosen = choice.with(value);
  }
  return try_strategy(problem, chosen, look);
}

}  // namespace plimsoll
