#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/answers/change.h"
#include "sim/answers/near_answer.h"
#include "sim/answers/price_list.h"

namespace plimsoll {

/// A change and what it does.
struct ChangeOutcome {
  std::string kind;
  std::string name;
  ChangeEffect effect = ChangeEffect::kTime;
  NearAnswer answer;
  bool makes_fit = false;
  bool at_least = false;             ///< found near known plans alone: a search as `fit` makes may find a faster one
  double speed_up = 0;               ///< rate over today's rate; 0 where either does not fit
  std::optional<double> price;       ///< of what has to be bought, where all of it is priced; 0 for nothing
  std::optional<double> price_of_speed;  ///< price for each 100 % that the training gets faster

  /// Whether it is any better than today: it makes the training fit, or is faster beyond what a prediction means.
  [[nodiscard]] bool helps() const { return makes_fit || speed_up >= kLeastSpeedUp; }

  static constexpr double kLeastSpeedUp = 1.01;
};

/// Today's answer and what every single change would do, the best first: those that make the training fit, then by speed.
struct HelpAnswer {
  FitAnswer today;
  std::vector<ChangeOutcome> outcomes;
  std::vector<std::string> refused;  ///< changes that cannot be planned, and why
};

/// Rates are tokens a second (images, where the model reads images). Fails where today's question cannot be answered.
Result<HelpAnswer> what_would_help(const Question& question, const PriceList& prices = {}, unsigned threads = 0);

}  // namespace plimsoll
