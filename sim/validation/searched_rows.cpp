#include "sim/validation/searched_rows.h"

#include <algorithm>

#include "core/model/parameters.h"

namespace plimsoll {

namespace {

/// Seconds at one micro-batch, of a step or of one sequence; nothing where it does not fit.
Result<std::optional<double>> seconds_at(const RowStatement& statement, std::int64_t batch, const StackPredictor& predict) {
  const std::int64_t sequences = statement.recipe.accumulate;
  RowStatement tried = statement;
  tried.recipe.micro_batch = batch;
  tried.recipe.accumulate = std::max<std::int64_t>(1, sequences / batch);
  const auto prediction = predict(tried.spec, folded(tried.recipe, tried.setup), tried.setup, tried.gpu);
  if (!prediction) return fail(prediction.error());
  if (!prediction->fits || prediction->time.step <= 0) return std::optional<double>{};
  const double step = whole_step_seconds(prediction->time, tried.recipe, tried.setup);
  return std::optional<double>(sequences > 1 ? step : step / static_cast<double>(batch));
}

}  // namespace

Result<std::optional<double>> best_over_batches(const RowStatement& statement, const StackPredictor& predict) {
  std::optional<double> best;
  const std::int64_t sequences = statement.recipe.accumulate;
  // From the largest down: what is paid once a micro-batch weighs more in smaller ones, unless they leave room that is put to use.
  for (std::int64_t batch = kLargestTriedBatch; batch >= 1; batch /= 2) {
    if (sequences > 1 && sequences % batch != 0) continue;
    const auto seconds = seconds_at(statement, batch, predict);
    if (!seconds) return fail(seconds.error());
    if (best && (!*seconds || **seconds > *best)) break;
    if (*seconds) best = *seconds;
  }
  return best;
}

Result<std::optional<double>> largest_by_depth(const RowStatement& statement, const StackPredictor& predict) {
  RowStatement tried = statement;
  const std::int64_t step = std::max<std::int64_t>(1, statement.setup.stages);
  const auto fits = [&](std::int64_t steps) -> Result<bool> {
    tried.spec.layers = steps * step;
    const auto prediction = predict(tried.spec, folded(tried.recipe, tried.setup), tried.setup, tried.gpu);
    if (!prediction) return fail(prediction.error());
    return prediction->fits;
  };
  std::int64_t deep = 0;
  std::int64_t beyond = kDeepestTried / step + 1;
  while (beyond - deep > 1) {
    // Twice as deep until something does not fit, then halves.
    const std::int64_t doubled = deep == 0 ? 1 : 2 * deep;
    const std::int64_t asked = std::min(doubled, (deep + beyond) / 2);
    const auto answer = fits(asked);
    if (!answer) return fail(answer.error());
    (*answer ? deep : beyond) = asked;
  }
  if (deep == 0) return std::optional<double>{};
  tried.spec.layers = deep * step;
  return std::optional<double>(static_cast<double>(parameter_count(tried.spec)));
}

}  // namespace plimsoll
