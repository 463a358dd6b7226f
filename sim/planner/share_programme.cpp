#include "sim/planner/share_programme.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/des/work_table.h"
#include "sim/planner/fewer_micro_batches.h"
#include "sim/planner/linear_programme.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/strategy_families.h"

namespace plimsoll {
namespace {

using Field = std::int64_t Strategy::*;

constexpr std::size_t kPhases = 3;  ///< with loading in forward's
constexpr int kCorrections = 3;     ///< a share's end or a full memory bends the lines; so often they are laid anew
constexpr std::size_t kTaken = 2;   ///< of the ways to round
constexpr double kReadOffMargin = 1e-3;  ///< of a memory, that what is read off shorter models may be too high

/// What a strategy takes: bytes of each memory, then seconds of each queue and resource, phase by phase.
using Load = std::vector<double>;

std::vector<Field> shares_of(const Strategy& s) {
  std::vector<Field> fields;
  if (s.activations != Tier::kDevice) fields.push_back(&Strategy::activation_blocks);
  if (s.activations == Tier::kSsd) fields.push_back(&Strategy::host_activation_blocks);
  if (s.optimizer != Tier::kDevice) fields.push_back(&Strategy::device_state_blocks);
  if (s.optimizer == Tier::kSsd) fields.push_back(&Strategy::host_state_blocks);
  if (s.device_update_blocks > 0) fields.push_back(&Strategy::device_update_blocks);
  if (s.parameters != Tier::kDevice) fields.push_back(&Strategy::device_parameter_blocks);
  return fields;
}

std::size_t phase_of(const Plan& plan, Phase phase) {
  if (plan.recipe.delay > 0) return 0;  // updates run beside everything
  if (phase == Phase::kOptimizer) return plan.strategy.update_in_backward ? 1 : 2;
  return phase == Phase::kBackward ? 1 : 0;
}

Result<Load> time_of(const Plan& plan, const FlatBody& step, const SearchProblem& problem) {
  const auto works = cost_instructions(plan, step, problem.costs);
  if (!works) return fail(works.error());
  const std::size_t queues = plan.platform.queues.size(), lines = queues + plan.platform.resources.size();
  const double guarded = guard_probability(plan, problem.odds);
  Load seconds(kPhases * lines, 0.0);
  for (std::uint32_t i = 0; i < step.size(); ++i) {
    const Instruction& instruction = step.list.instructions[i];
    const Work& work = works->of(i);
    const std::size_t first = phase_of(plan, instruction.phase) * lines;
    const double duration = to_seconds(work.duration) * (instruction.guard == kNoGuard ? 1 : guarded);
    seconds[first + instruction.queue.index] += duration / static_cast<double>(plan.platform.at(instruction.queue).width);
    for (const Demand& demand : work.demands) {
      const double capacity = plan.platform.at(demand.resource).capacity;
      if (capacity > 0) seconds[first + queues + demand.resource.index] += duration * demand.amount / capacity;
    }
  }
  return seconds;
}

Result<Load> load_of_step(const SearchProblem& problem, const Strategy& strategy) {
  std::optional<Result<Load>> time;
  const auto read = [&](const Plan& plan, const FlatBody& step) {
    time = time_of(plan, step, problem);
    return false;
  };
  const auto plan = lower_to_plan(
      problem.spec, problem.recipe, problem.platform, strategy,
      {.worth_placing = read, .nameless = true, .sizes = problem.sizes.get(), .outline = problem.outline.get(), .graph = problem.graph.get()});
  if (!plan) return fail(plan.error());
  if (!*time) return fail(time->error());
  Load load;
  for (const SpaceNeed& need : space_needs(*plan)) load.push_back(static_cast<double>(need.needed.count));
  load.insert(load.end(), (*time)->begin(), (*time)->end());
  return load;
}

/// A load grows by as much with each micro-batch between the first and the last.
Result<Load> load_of(const SearchProblem& problem, const Strategy& strategy) {
  if (!problem.fewer) return load_of_step(problem, strategy);
  auto load = load_of_step(problem.fewer->longer(), strategy);
  const auto less = load_of_step(problem.fewer->shorter(), strategy);
  if (!load || !less) return fail(load ? less.error() : load.error());
  for (std::size_t i = 0; i < load->size(); ++i)
    (*load)[i] += static_cast<double>(problem.fewer->further()) * ((*load)[i] - (*less)[i]);
  return load;
}

/// What memories take alone, read off shorter models; nothing where these say nothing.
std::optional<Load> bytes_of(const SearchProblem& problem, const Strategy& strategy) {
  const auto needs = folded_bound(*problem.shorter, strategy);
  if (!needs || !*needs) return std::nullopt;
  Load bytes;
  for (const SpaceNeed& need : **needs) bytes.push_back(static_cast<double>(need.needed.count));
  return bytes;
}

/// One base's shares, as blocks beyond the fewest that each can be.
class Shares {
 public:
  Shares(const SearchProblem& problem, const Strategy& base)
      : problem_(problem), base_(without_shares(base)), fields_(shares_of(base)), spaces_(problem.platform.spaces.size()) {
    base_.name = family_of(base_);
  }

  [[nodiscard]] bool none() const { return fields_.empty(); }

  /// Lays the lines through the loads at none and at all but one of each share.
  Result<void> lay(unsigned threads) {
    std::vector<std::optional<Result<Load>>> loads(1 + fields_.size());
    const auto take = [&](std::size_t i) {
      if (const auto at = laid_at(i)) loads[i] = load_of(problem_, *at);
    };
    parallel_for(loads.size(), take, threads);
    std::vector<std::optional<Load>> found(loads.size());
    for (std::size_t i = 0; i < loads.size(); ++i) {
      if (loads[i] && !*loads[i]) return fail(loads[i]->error());
      if (loads[i]) found[i] = std::move(**loads[i]);
    }
    lay_through(found);
    return {};
  }

  /// Whether no share leaves room in all memories, as shorter models are read off: then nobody need write and cost the whole one.
  [[nodiscard]] bool surely_without_room() {
    if (!problem_.shorter || problem_.fewer) return false;
    std::vector<std::optional<Load>> found(1 + fields_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto at = laid_at(i);
      if (at && !(found[i] = bytes_of(problem_, *at))) return false;
    }
    lay_through(found);
    for (std::size_t s = 0; s < spaces_; ++s) at_none_[s] -= kReadOffMargin * usable(s);
    return !solve(programme()).has_value();
  }

  /// Shifts the lines so that they meet what the strategy takes indeed.
  Result<void> correct_at(const Strategy& strategy) {
    const auto load = load_of(problem_, strategy);
    if (!load) return fail(load.error());
    const Load foretold = at(blocks_of(strategy));
    for (std::size_t i = 0; i < load->size(); ++i) at_none_[i] += (*load)[i] - foretold[i];
    return {};
  }

  /// The best ways to round the programme's answer, by the lines.
  [[nodiscard]] std::vector<Strategy> rounded() const {
    const auto answer = solve(programme());
    if (!answer) return {};
    std::vector<std::pair<double, Strategy>> ways;
    for (std::size_t way = 0; way < std::size_t{1} << fields_.size(); ++way) {
      const std::vector<double> blocks = corner(*answer, way);
      const Strategy strategy = at_blocks(blocks);
      const bool told = std::any_of(ways.begin(), ways.end(), [&](const auto& one) { return one.second == strategy; });
      if (!told && possible(strategy)) ways.emplace_back(worth(at(blocks)), strategy);
    }
    std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Strategy> best;
    for (std::size_t i = 0; i < std::min(ways.size(), kTaken); ++i) best.push_back(std::move(ways[i].second));
    return best;
  }

 private:
  /// Where line i is laid: at none, then at each share's probe; nothing where a share is of no block.
  [[nodiscard]] std::optional<Strategy> laid_at(std::size_t i) const {
    if (i == 0) return base_;
    return most(i - 1) >= 1 ? std::optional(probe(i - 1)) : std::nullopt;
  }

  void lay_through(std::vector<std::optional<Load>>& loads) {
    at_none_ = std::move(*loads[0]);
    slopes_.clear();
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      slopes_.push_back(loads[f + 1] ? slope(f, std::move(*loads[f + 1])) : Load(at_none_.size(), 0.0));
    }
  }

  [[nodiscard]] std::int64_t least(std::size_t f) const { return base_.*fields_[f]; }
  [[nodiscard]] std::int64_t most(std::size_t f) const { return problem_.spec.blocks() - least(f); }

  /// All but one of a share's blocks, at least one.
  [[nodiscard]] std::int64_t probed(std::size_t f) const { return std::max<std::int64_t>(1, most(f) - 1); }
  /// What stays on the host is a share of what leaves the device.
  [[nodiscard]] bool needs_more(std::size_t f) const { return fields_[f] == &Strategy::host_activation_blocks; }

  [[nodiscard]] Strategy probe(std::size_t f) const {
    Strategy probe = with(f, probed(f));
    if (needs_more(f)) probe.activation_blocks = problem_.spec.blocks();
    return probe;
  }

  /// For each block of a share, from the load at its probe.
  [[nodiscard]] Load slope(std::size_t f, Load load) const {
    for (std::size_t i = 0; i < load.size(); ++i) {
      const double from = at_none_[i] + (needs_more(f) ? slopes_[f - 1][i] * static_cast<double>(most(f - 1)) : 0);
      load[i] = (load[i] - from) / static_cast<double>(probed(f));
    }
    return load;
  }

  [[nodiscard]] Strategy with(std::size_t f, std::int64_t blocks) const {
    Strategy strategy = base_;
    strategy.*fields_[f] += blocks;
    return strategy;
  }

  [[nodiscard]] Strategy at_blocks(const std::vector<double>& blocks) const {
    Strategy strategy = base_;
    for (std::size_t f = 0; f < fields_.size(); ++f) strategy.*fields_[f] += static_cast<std::int64_t>(blocks[f]);
    strategy.name = family_of(strategy);
    return strategy;
  }

  [[nodiscard]] std::vector<double> blocks_of(const Strategy& strategy) const {
    std::vector<double> blocks;
    for (const Field field : fields_) blocks.push_back(static_cast<double>(strategy.*field - base_.*field));
    return blocks;
  }

  [[nodiscard]] std::vector<double> corner(const std::vector<double>& answer, std::size_t way) const {
    std::vector<double> blocks;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const double whole = (way >> f & 1) != 0 ? std::ceil(answer[f] - 1e-6) : std::floor(answer[f] + 1e-6);
      blocks.push_back(std::clamp(whole, 0.0, static_cast<double>(most(f))));
    }
    return blocks;
  }

  [[nodiscard]] bool possible(const Strategy& s) const {
    return s.device_state_blocks + std::max(s.host_state_blocks, s.device_update_blocks) <= problem_.spec.blocks() &&
           s.host_activation_blocks <= s.activation_blocks;
  }

  [[nodiscard]] Load at(const std::vector<double>& blocks) const {
    Load load = at_none_;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      for (std::size_t i = 0; i < load.size(); ++i) load[i] += slopes_[f][i] * blocks[f];
    }
    return load;
  }

  [[nodiscard]] double usable(std::size_t space) const {
    return static_cast<double>(problem_.platform.spaces[space].usable.count);
  }

  /// Seconds, and what memories are short of counts more than any time.
  [[nodiscard]] double worth(const Load& load) const {
    constexpr double kForEachByte = 1e6;
    double sum = 0;
    for (std::size_t s = 0; s < spaces_; ++s) sum += kForEachByte * std::max(0.0, load[s] - usable(s));
    const std::size_t lines = (load.size() - spaces_) / kPhases;
    for (std::size_t p = 0; p < kPhases; ++p) {
      const auto first = load.begin() + static_cast<std::ptrdiff_t>(spaces_ + p * lines);
      sum += *std::max_element(first, first + static_cast<std::ptrdiff_t>(lines));
    }
    return sum;
  }

  /// Variables: the shares, then the time of each phase in parts of that at none.
  [[nodiscard]] LinearProgramme programme() const {
    const std::size_t count = fields_.size() + kPhases;
    double whole = 0;
    for (std::size_t i = spaces_; i < at_none_.size(); ++i) whole = std::max(whole, at_none_[i]);
    LinearProgramme lp{.cost = std::vector<double>(count, 0.0), .rows = {}, .limits = {}};
    std::fill(lp.cost.begin() + static_cast<std::ptrdiff_t>(fields_.size()), lp.cost.end(), 1.0);
    const std::size_t lines = (at_none_.size() - spaces_) / kPhases;
    for (std::size_t i = 0; i < at_none_.size(); ++i) {
      const double unit = i < spaces_ ? std::max(1.0, usable(i)) : std::max(1e-9, whole);
      std::vector<double> row(count, 0.0);
      for (std::size_t f = 0; f < fields_.size(); ++f) row[f] = slopes_[f][i] / unit;
      if (i >= spaces_) row[fields_.size() + (i - spaces_) / lines] = -1;
      const double room = i < spaces_ ? usable(i) - at_none_[i] : -at_none_[i];
      if (i < spaces_ || std::any_of(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(fields_.size()),
                                     [](double factor) { return factor != 0; }) || room < 0)
        lp.add(std::move(row), room / unit);
    }
    add_counts(lp);
    return lp;
  }

  /// No share is of more blocks than there are, two that exclude each other together neither, one within another neither.
  void add_counts(LinearProgramme& lp) const {
    std::vector<double> states(lp.cost.size(), 0.0), updates(lp.cost.size(), 0.0), within(lp.cost.size(), 0.0);
    bool both = false, inner = false, apart = false;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      std::vector<double> row(lp.cost.size(), 0.0);
      row[f] = 1;
      lp.add(std::move(row), static_cast<double>(most(f)));
      const bool on_device = fields_[f] == &Strategy::device_state_blocks;
      if (on_device || fields_[f] == &Strategy::host_state_blocks) states[f] = 1;
      if (on_device || fields_[f] == &Strategy::device_update_blocks) updates[f] = 1;
      both = both || fields_[f] == &Strategy::host_state_blocks;
      apart = apart || fields_[f] == &Strategy::device_update_blocks;
      if (fields_[f] == &Strategy::activation_blocks) within[f] = -1;
      if (fields_[f] == &Strategy::host_activation_blocks) within[f] = 1;
      inner = inner || fields_[f] == &Strategy::host_activation_blocks;
    }
    if (both) lp.add(std::move(states), static_cast<double>(problem_.spec.blocks()));
    if (apart) lp.add(std::move(updates), static_cast<double>(problem_.spec.blocks()));
    if (inner) lp.add(std::move(within), static_cast<double>(base_.activation_blocks));
  }

  const SearchProblem& problem_;
  Strategy base_;
  std::vector<Field> fields_;
  std::size_t spaces_;
  Load at_none_;
  std::vector<Load> slopes_;  ///< for each block, one a field
};

}  // namespace

Strategy without_shares(const Strategy& base) {
  Strategy none = base;
  none.activation_blocks = base.activations != Tier::kDevice ? 1 : 0;
  none.host_activation_blocks = none.device_state_blocks = none.host_state_blocks = none.device_parameter_blocks = 0;
  none.device_update_blocks = 0;
  return none;
}

Result<std::vector<Strategy>> rounded_shares(const SearchProblem& problem, const Strategy& base, unsigned threads) {
  Shares shares(problem, base);
  if (shares.none()) return std::vector<Strategy>{};
  if (shares.surely_without_room()) return std::vector<Strategy>{};
  if (const auto laid = shares.lay(threads); !laid) return fail(laid.error());
  std::vector<Strategy> found;
  for (int i = 0; i < kCorrections; ++i) {
    std::vector<Strategy> ways = shares.rounded();
    if (ways.empty()) break;
    const Strategy best = ways.front();
    const bool told = std::find(found.begin(), found.end(), best) != found.end();
    for (Strategy& way : ways) {
      if (std::find(found.begin(), found.end(), way) == found.end()) found.insert(found.begin(), std::move(way));
    }
    if (told) break;
    if (const auto corrected = shares.correct_at(best); !corrected) return fail(corrected.error());
  }
  return found;
}

}  // namespace plimsoll
