#pragma once

#include <QMetaType>

#include <memory>

#include "core/plan/plan.h"
#include "formats/runs/answers.h"
#include "sim/planner/predict.h"

namespace plimsoll::gui {

/// A plan that was found or chosen on the Explore page, with what the simulator says of it. Never changes once shared.
struct PredictedPlan {
  Plan plan;
  Prediction prediction;  ///< its trace is of the plan's "step" body
  FitAnswer answer;
};

using SharedPlan = std::shared_ptr<const PredictedPlan>;

}  // namespace plimsoll::gui

Q_DECLARE_METATYPE(plimsoll::gui::SharedPlan)
