#pragma once

#include <QString>

#include <vector>

#include "gui/timeline/timeline.h"
#include "sim/cost/cost_model.h"

namespace plimsoll::gui {

/// One line about an event.
struct DetailLine {
  QString what;
  QString value;
};

/// Where a prediction's costs are from.
struct CostSource {
  const CostModel* model = nullptr;  ///< asked for the op's own cost; null: only `words` are known
  QString words;                     ///< of the whole prediction
};

/// What is known about an event: where, when, how much, and where its duration is from.
std::vector<DetailLine> event_details(const Timeline& timeline, const EventRef& ref, const CostSource& costs);

/// "linear · layer 7 · step 2".
QString event_title(const Timeline& timeline, const EventRef& ref);

}  // namespace plimsoll::gui
