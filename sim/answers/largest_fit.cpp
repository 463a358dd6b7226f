#include "sim/answers/largest_fit.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/model/parameters.h"
#include "sim/answers/room_bound.h"
#include "sim/planner/strategy_families.h"

namespace plimsoll {
namespace {

/// Remembers what was asked; a thorough answer counts for both.
class Probes {
 public:
  explicit Probes(const FitProbe& probe) : probe_(probe) {}

  Result<bool> fits(std::int64_t value, bool thorough) {
    const auto known = answers_.find(value);
    const bool settled = known != answers_.end() && (known->second.thorough || known->second.answer.fits || !thorough);
    if (settled) return known->second.answer.fits;
    auto answer = probe_(value, thorough);
    if (!answer) return fail(answer.error());
    const bool fits = answer->fits;
    answers_[value] = {std::move(*answer), thorough};
    return fits;
  }

  /// Whether who looked thoroughly found no plan.
  [[nodiscard]] bool refused(std::int64_t value) const {
    const auto known = answers_.find(value);
    return known != answers_.end() && known->second.thorough && !known->second.answer.fits;
  }

  [[nodiscard]] const NearAnswer& at(std::int64_t value) const { return answers_.at(value).answer; }
  [[nodiscard]] bool knows(std::int64_t value) const { return answers_.count(value) == 1; }
  [[nodiscard]] std::size_t size() const { return answers_.size(); }

  /// Whether nothing above `edge` fits, of what was asked.
  [[nodiscard]] bool ends_at(std::int64_t edge) const {
    return std::none_of(answers_.upper_bound(edge), answers_.end(), [](const auto& one) { return one.second.answer.fits; });
  }

  /// The smallest below `edge` that does not fit, of what was asked, or 0. That a quick look finds no plan says little.
  [[nodiscard]] std::int64_t refused_below(std::int64_t edge) const {
    const auto refuses = [](const auto& one) { return !one.second.answer.fits && one.second.thorough; };
    const auto first = std::find_if(answers_.begin(), answers_.lower_bound(edge), refuses);
    return first == answers_.lower_bound(edge) ? 0 : first->first;
  }

 private:
  struct Known {
    NearAnswer answer;
    bool thorough = false;
  };
  const FitProbe& probe_;
  std::map<std::int64_t, Known> answers_;
};

/// Where between `low`, which fits, and `high`, which does not, the edge may be.
class Middle {
 public:
  explicit Middle(Bytes of_each) : of_each_(of_each) {}

  /// A value that does not fit, from the farthest to the nearest.
  void missed(std::int64_t value, Bytes short_of) {
    if (short_of_.count > 0 && value < value_ && short_of < short_of_)
      of_each_ = Bytes((short_of_ - short_of).count / (value_ - value));
    value_ = value;
    short_of_ = short_of;
  }

  /// Strictly between the two; halves every third time, so that it ends soon in any case.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    std::int64_t next = low + (high - low) / 2;
    const bool known = value_ == high && short_of_.count > 0 && of_each_.count > 0;
    if (known && ++asked_ % 3 != 0) next = high - (short_of_.count + of_each_.count - 1) / of_each_.count;
    return std::clamp(next, low + 1, high - 1);
  }

 private:
  Bytes of_each_;
  std::int64_t value_ = 0;
  Bytes short_of_;
  int asked_ = 0;
};

/// A limit above the edge by no more than one part in so many of it is near.
constexpr std::int64_t kNearLimit = 100;

/// From `low`, which fits (or is 0), the largest that does: doubling the step, then narrowing the interval. A limit that a quick
/// look finds short of no more than one takes is looked at thoroughly at once: where it fits, nothing else is to be asked.
Result<std::int64_t> climb(Probes& probes, std::int64_t low, const LargestOptions& options) {
  std::int64_t high = options.most + 1;  // the first that is known not to fit
  Middle middle(options.of_each);
  while (high - low > 1) {
    const bool open = high > options.most;
    const std::int64_t next = open ? std::min(options.most, std::max<std::int64_t>(1, 2 * low)) : middle.between(low, high);
    auto fits = probes.fits(next, false);
    if (fits && !*fits && next == options.most && probes.at(next).short_of <= options.of_each) fits = probes.fits(next, true);
    if (!fits) return fail(fits.error());
    if (!*fits) middle.missed(next, probes.at(next).short_of);
    (*fits ? low : high) = next;
  }
  return low;
}

/// The same when values above the edge must not fit even for who looks thoroughly. The limit is asked at once where it is near. Near a
/// value that is known not to fit the next one is asked: that one must be refused in any case.
Result<std::int64_t> confirm(Probes& probes, std::int64_t edge, std::int64_t most) {
  while (edge > 0) {
    const auto fits = probes.fits(edge, true);
    if (!fits) return fail(fits.error());
    if (*fits) break;
    --edge;
  }
  std::optional<std::int64_t> refused;  // the nearest above the edge
  std::int64_t step = most - edge <= edge / kNearLimit ? std::max<std::int64_t>(1, most - edge) : 1;
  for (std::int64_t next = edge + step; next <= most; next = std::min(most, edge + step)) {
    const auto fits = probes.fits(next, true);
    if (!fits) return fail(fits.error());
    if (!*fits) {
      if (next == edge + 1) break;
      refused = next;
      step = 1;
      continue;
    }
    edge = next;
    if (edge == most || probes.refused(edge + 1)) break;
    step = refused && 2 * step > (*refused - edge) / 2 ? 1 : 2 * step;
  }
  return edge;
}

/// Looks at a few values beyond the edge, where nothing may fit any more; gives the largest that does, or the edge.
Result<std::int64_t> look_beyond(Probes& probes, std::int64_t edge, std::int64_t most) {
  std::int64_t farthest = edge;
  for (const std::int64_t next :
       {edge + 2, edge + std::max<std::int64_t>(3, edge / 4), edge + std::max<std::int64_t>(5, edge / 2)}) {
    if (edge == 0 || next > most) continue;
    const auto fits = probes.fits(next, false);
    if (!fits) return fail(fits.error());
    if (*fits) farthest = next;
  }
  return farthest;
}

}  // namespace

Result<LargestFit> find_largest(const FitProbe& probe, const LargestOptions& options) {
  Probes probes(probe);
  const auto quick = climb(probes, 0, options);
  if (!quick) return fail(quick.error());
  auto edge = confirm(probes, *quick, options.most);
  if (!edge) return fail(edge.error());
  const auto beyond = look_beyond(probes, *edge, options.most);
  if (!beyond) return fail(beyond.error());
  if (*beyond > *edge) edge = confirm(probes, *beyond, options.most);
  if (!edge) return fail(edge.error());
  LargestFit largest{.value = *edge, .certain = *edge, .refused_below = probes.refused_below(*edge), .looked_at = probes.size()};
  largest.monotone = largest.refused_below == 0 && probes.ends_at(*edge);
  if (*edge > 0) largest.answer = probes.at(*edge);
  if (*edge < options.most && probes.knows(*edge + 1)) largest.beyond = probes.at(*edge + 1);
  return largest;
}

Growth growth_of(Extent extent) {
  return [extent](const Question& question, std::int64_t value) { return question_at(question, extent, value); };
}

Growth growth_along(std::vector<ModelSpec> models) {
  return [models = std::move(models)](const Question& question, std::int64_t value) -> Result<Question> {
    Question grown = question;
    grown.spec = models.at(static_cast<std::size_t>(value - 1));
    return grown;
  };
}

namespace {

/// What is known of a question that grows while it is asked again and again.
class GrowingQuestion {
 public:
  GrowingQuestion(const Question& question, const Growth& growth, const LargestEffort& effort)
      : question_(question),
        growth_(growth),
        effort_(effort),
        searches_(!question.stack && !question.exact && question.strategy == "auto") {}

  Result<NearAnswer> probe(std::int64_t value, bool thorough) {
    const auto known = of_stack_.find(value);
    if (known != of_stack_.end()) return known->second;
    const auto grown = growth_(question_, value);
    if (!grown) return fail(grown.error());
    if (bounded()) {
      if (const Bytes beyond = beyond_all_memory(*grown); beyond.count > 0) return NearAnswer{.short_of = beyond};
    }
    if (!thorough) quick_.insert(value);
    if (thorough && refuses_at_once(*grown, value)) {
      refused_.insert(value);
      return NearAnswer{};
    }
    NearEffort look{.evaluations = 8, .memory = room_only(), .threads = effort_.threads};
    if (thorough && searches_) {
      look = {.evaluations = 60,
              .instruction_budget = kInstructionBudget,
              .memory = room_only(),
              .everywhere = true,
              .threads = effort_.threads};
    }
    auto answer = near_answer(*grown, starts(*grown), look);
    if (answer && question_.stack) of_stack_.emplace(value, *answer);
    if (answer && answer->fits) remember(answer->strategy);
    return answer;
  }

  /// One more than the largest. A bound refuses without saying what is missing, which is told of this one.
  Result<NearAnswer> beyond(std::int64_t value) {
    if (refused_.erase(value) > 0) quick_.insert(value);
    return probe(value, true);
  }
  [[nodiscard]] bool refused_at_once(std::int64_t value) const { return refused_.count(value) > 0; }

  /// The answer with its time, where room alone was asked for.
  Result<NearAnswer> timed(std::int64_t value, const NearAnswer& known) {
    if (!room_only()) return known;
    const auto grown = growth_(question_, value);
    if (!grown) return fail(grown.error());
    remember(known.strategy);
    return near_answer(*grown, found_, {.threads = effort_.threads});
  }

  /// Whether attention would slide, of which plans of ours know nothing.
  [[nodiscard]] bool slides(std::int64_t value) const {
    const auto grown = growth_(question_, value);
    return !question_.stack && grown && grown->spec.slides_over(grown->recipe.sequence);
  }

  /// The options with values alone whose attention is full.
  LargestOptions within_window(LargestOptions options) const {
    if (slides(1) || !slides(options.most)) return options;
    std::int64_t low = 1;
    while (options.most - low > 1) {
      const std::int64_t middle = low + (options.most - low) / 2;
      (slides(middle) ? options.most : low) = middle;
    }
    options.most = low;
    return options;
  }

  /// The options with what memory as a whole allows.
  LargestOptions bounded(LargestOptions options) const {
    if (!bounded()) return options;
    std::int64_t low = 0, high = options.most + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      const auto grown = growth_(question_, middle);
      if (!grown) return options;  // it is told when it is asked for
      (beyond_all_memory(*grown).count > 0 ? high : low) = middle;
    }
    options.most = low;
    if (low < 2) return options;
    const auto last = growth_(question_, low), before = growth_(question_, low - 1);
    if (last && before) options.of_each = least_bytes(last->spec, last->recipe) - least_bytes(before->spec, before->recipe);
    return options;
  }

 private:
  [[nodiscard]] bool room_only() const { return effort_.memory && !question_.stack; }
  [[nodiscard]] bool bounded() const { return effort_.bound && !question_.stack; }

  /// Only where nobody goes on from what is missing, as who climbs does from a quick look.
  [[nodiscard]] bool refuses_at_once(const Question& grown, std::int64_t value) const {
    return searches_ && bounded() && quick_.count(value) == 0 && too_much_to_stage(grown);
  }

  /// Plans that fitted a smaller value, the last first, then a starting point of each family.
  [[nodiscard]] std::vector<Strategy> starts(const Question& grown) const {
    std::vector<Strategy> known = found_;
    if (!searches_) return known;
    for (Strategy& start : candidate_strategies(grown.spec.blocks(), grown.platform, grown.recipe.precision,
                                                grown.recipe.adapter.exists())) {
      if (start.recompute_every <= 1) known.push_back(std::move(start));
    }
    return known;
  }

  /// One plan often fits several values in a row.
  void remember(const Strategy& strategy) {
    std::erase(found_, Strategy(strategy));
    found_.insert(found_.begin(), strategy);
    if (found_.size() > 3) found_.pop_back();
  }

  const Question& question_;
  const Growth& growth_;
  LargestEffort effort_;
  bool searches_;
  std::vector<Strategy> found_;
  std::map<std::int64_t, NearAnswer> of_stack_;  ///< another program's answers, which are as good however hard one looks
  std::set<std::int64_t> quick_;    ///< that were looked at quickly
  std::set<std::int64_t> refused_;  ///< by a bound alone
};

/// Another program's answer errs: the largest up to `most` that fits by more than that.
Result<std::int64_t> largest_certain(GrowingQuestion& growing, std::int64_t most) {
  const FitProbe certainly = [&](std::int64_t value, bool thorough) {
    auto answer = growing.probe(value, thorough);
    if (answer) answer->fits = answer->certain;
    return answer;
  };
  const auto found = find_largest(certainly, {.most = most});
  if (!found) return fail(found.error());
  return found->value;
}

}  // namespace

Result<LargestFit> largest_fit(const Question& question, const Growth& growth, const LargestOptions& options,
                               const LargestEffort& effort) {
  GrowingQuestion growing(question, growth, effort);
  const LargestOptions in_window = growing.within_window(options);
  const LargestOptions bounded = growing.bounded(in_window);
  auto largest = find_largest([&](std::int64_t value, bool thorough) { return growing.probe(value, thorough); }, bounded);
  if (!largest) return largest;
  const bool ends_at_bound = largest->value == bounded.most && bounded.most < in_window.most;
  if (largest->value == in_window.most && in_window.most < options.most) largest->window = question.spec.window;
  if (ends_at_bound || growing.refused_at_once(largest->value + 1)) {
    const auto beyond = growing.beyond(largest->value + 1);
    if (!beyond) return fail(beyond.error());
    largest->beyond = *beyond;
  }
  if (largest->value == 0) return largest;
  if (question.stack) {
    const auto certain = largest_certain(growing, largest->value);
    if (!certain) return fail(certain.error());
    largest->certain = *certain;
  }
  largest->parameters = parameter_count(growth(question, largest->value)->spec);
  auto timed = growing.timed(largest->value, largest->answer);
  if (!timed) return fail(timed.error());
  // A system that chooses by time may choose what does not fit: then each value has to be timed.
  if (!timed->fits)
    return largest_fit(question, growth, options, {.memory = false, .bound = effort.bound, .threads = effort.threads});
  largest->answer = std::move(*timed);
  return largest;
}

}  // namespace plimsoll
