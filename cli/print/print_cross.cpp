#include "cli/print/print_cross.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/validation/fitted_constants.h"
#include "sim/validation/row_statistics.h"

namespace plimsoll {
namespace {

/// Median error on the family's rows of all measures with the constants as they are; nothing without such rows.
std::optional<double> error_now(const std::vector<RowOutcome>& outcomes, const std::string& family) {
  std::vector<double> errors;
  for (const RowOutcome& outcome : outcomes) {
    if (outcome.stated.family != family) continue;
    if (const auto error = outcome.error()) errors.push_back(*error);
  }
  if (errors.empty()) return std::nullopt;
  return summarize_errors(std::move(errors)).median;
}

}  // namespace

Result<void> print_cross(const std::vector<RowOutcome>& outcomes, bool json) {
  const auto constants = shipped_fitted_constants();
  if (!constants) return fail(constants.error());
  auto answer = nlohmann::ordered_json::array();
  if (!json && constants->empty()) fmt::print("no constant is fitted on published rows: nothing can be left out\n");
  for (const FittedConstant& constant : *constants) {
    const auto now = error_now(outcomes, constant.left_out);
    if (json) {
      answer.push_back({{"constant", constant.constant}, {"unit", constant.unit}, {"value", constant.value},
                        {"rows", constant.rows}, {"left_out", constant.left_out}, {"value_without", constant.value_without},
                        {"error_without", constant.error_without}});
      if (now) answer.back()["error_now"] = *now;
      continue;
    }
    fmt::print("{} = {:.4g} {} (fitted on {}); without {}: {:.4g}, and the median error there {:.1f} %{}\n", constant.constant,
               constant.value, constant.unit, constant.rows, constant.left_out, constant.value_without,
               100 * constant.error_without, now ? fmt::format(" (now {:.1f} %)", 100 * *now) : "");
  }
  if (json) fmt::print("{}\n", answer.dump());
  return {};
}

}  // namespace plimsoll
