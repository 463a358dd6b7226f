#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/training/headlines.h"

namespace plimsoll {

/// What the simulator makes of a headline.
struct HeadlineAnswer {
  double value = 0;    ///< the figure, or the ratio of two; of "fits": 1 or 0
  bool fits = true;    ///< whether all trainings that were asked about fit
  std::string short_of;  ///< what is missing, where one does not
};

/// Answers the command lines of a headline, which must have one. Fails as these commands do, or on an unknown figure.
Result<HeadlineAnswer> answer_headline(const Headline& headline);

}  // namespace plimsoll
