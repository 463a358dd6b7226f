#include "sim/answers/largest_fit.h"

#include <algorithm>

#include "core/model/parameters.h"
#include "sim/planner/strategy_families.h"

namespace plimsoll {
namespace {

/// Remembers what was asked; a thorough answer counts for both.
class Probes {
 public:
  explicit Probes(const FitProbe& probe) : probe_(probe) {}

  Result<bool> fits(std::int64_t value, bool thorough) {
    const auto known = answers_.find(value);
    if (known != answers_.end() && (known->second.thorough || !thorough)) return known->second.answer.fits;
    auto answer = probe_(value, thorough);
    if (!answer) return fail(answer.error());
    const bool fits = answer->fits || (known != answers_.end() && known->second.answer.fits);
    if (!answer->fits && fits) return true;  // the quicker look found a plan that the other did not
    answers_[value] = {std::move(*answer), thorough};
    return fits;
  }

  [[nodiscard]] const NearAnswer& at(std::int64_t value) const { return answers_.at(value).answer; }
  [[nodiscard]] bool knows(std::int64_t value) const { return answers_.count(value) == 1; }
  [[nodiscard]] std::size_t size() const { return answers_.size(); }

  /// Whether everything up to `edge` fits and nothing above does, of what was asked. That a quick look finds no plan says little.
  [[nodiscard]] bool monotone(std::int64_t edge) const {
    return std::all_of(answers_.begin(), answers_.end(), [&](const auto& one) {
      return one.first > edge ? !one.second.answer.fits : one.second.answer.fits || !one.second.thorough;
    });
  }

 private:
  struct Known {
    NearAnswer answer;
    bool thorough = false;
  };
  const FitProbe& probe_;
  std::map<std::int64_t, Known> answers_;
};

/// From `low`, which fits (or is 0), the largest that does: doubling the step, then halving it.
Result<std::int64_t> climb(Probes& probes, std::int64_t low, std::int64_t most, bool thorough) {
  std::int64_t high = most + 1;  // the first that is known not to fit
  for (std::int64_t step = std::max<std::int64_t>(low, 1); low < most; step *= thorough ? 2 : 1) {
    const std::int64_t next = std::min(most, thorough ? low + step : std::max<std::int64_t>(1, 2 * low));
    const auto fits = probes.fits(next, thorough);
    if (!fits) return fail(fits.error());
    if (!*fits) {
      high = next;
      break;
    }
    low = next;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto fits = probes.fits(middle, thorough);
    if (!fits) return fail(fits.error());
    (*fits ? low : high) = middle;
  }
  return low;
}

/// The same when values above the edge must not fit even for who looks thoroughly.
Result<std::int64_t> confirm(Probes& probes, std::int64_t edge, std::int64_t most) {
  while (edge > 0) {
    const auto fits = probes.fits(edge, true);
    if (!fits) return fail(fits.error());
    if (*fits) break;
    --edge;
  }
  std::int64_t step = 1;
  for (std::int64_t next = edge + 1; next <= most; next = std::min(most, edge + step)) {
    const auto fits = probes.fits(next, true);
    if (!fits) return fail(fits.error());
    if (!*fits) {
      if (next == edge + 1) break;
      step = 1;
      continue;
    }
    edge = next;
    if (edge == most) break;
    step *= 2;
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
  const auto quick = climb(probes, 0, options.most, false);
  if (!quick) return fail(quick.error());
  auto edge = confirm(probes, *quick, options.most);
  if (!edge) return fail(edge.error());
  const auto beyond = look_beyond(probes, *edge, options.most);
  if (!beyond) return fail(beyond.error());
  if (*beyond > *edge) edge = confirm(probes, *beyond, options.most);
  if (!edge) return fail(edge.error());
  LargestFit largest{.value = *edge, .monotone = probes.monotone(*edge), .looked_at = probes.size()};
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

Result<LargestFit> largest_fit(const Question& question, const Growth& growth, const LargestOptions& options) {
  std::vector<Strategy> found;  // plans that fitted a smaller value, the last first
  const bool searches = !question.stack && !question.exact && question.strategy == "auto";
  const FitProbe probe = [&](std::int64_t value, bool thorough) -> Result<NearAnswer> {
    const auto grown = growth(question, value);
    if (!grown) return fail(grown.error());
    std::vector<Strategy> known = found;
    if (searches) {
      for (Strategy& start : candidate_strategies(grown->spec.layers, grown->platform, grown->recipe.precision,
                                                  grown->recipe.adapter.exists())) {
        if (start.recompute_every <= 1) known.push_back(std::move(start));
      }
    }
    auto answer = thorough && searches ? near_answer(*grown, known, {.evaluations = 60, .instruction_budget = kInstructionBudget})
                                       : near_answer(*grown, known, {.evaluations = 8});
    if (answer && answer->fits) found.insert(found.begin(), answer->strategy);
    if (found.size() > 3) found.pop_back();
    return answer;
  };
  auto largest = find_largest(probe, options);
  if (!largest) return largest;
  if (largest->value > 0) largest->parameters = parameter_count(growth(question, largest->value)->spec);
  return largest;
}

}  // namespace plimsoll
