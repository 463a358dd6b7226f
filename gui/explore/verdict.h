#pragma once

#include <QStringList>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/app/predicted_plan.h"
#include "gui/explore/problem.h"
#include "gui/jobs/latest_job.h"
#include "sim/planner/try_strategy.h"

namespace plimsoll::gui {

/// What the page shows of one state of the choices.
struct Verdict {
  SharedPlan plan;                    ///< the best one; of what does not fit, the one that is short of the least; null
                                      ///< where the plimsoll program answered for others' rules or several GPUs
  FitAnswer told;                     ///< what it answered then
  QStringList asked;                  ///< what it was asked, as options of `fit`
  std::vector<QStringList> layouts;   ///< of told.alternatives: options that make each the answer
  std::size_t ranks = 1;              ///< of the pipeline that is told of
  bool fell_back = false;             ///< it is of PyTorch because plimsoll has no kernels for the model
  std::vector<Candidate> candidates;  ///< all that the search looked at; empty of a first look
  std::vector<std::string> notes;     ///< what was assumed
  std::string machine;
  Recipe recipe;
  [[nodiscard]] const FitAnswer& answer() const { return plan ? plan->answer : told; }

  bool searched = false;              ///< false: the strategy of before under the new choices, while the search goes on
};

using SharedVerdict = std::shared_ptr<const Verdict>;

/// The verdict of one strategy alone: lowered, simulated, not compared with others.
Result<SharedVerdict> first_look(const Problem& problem, const Strategy& strategy, const Stop& stop);

/// The verdict of the search that the choices ask for; it is what `plimsoll fit` answers with.
Result<SharedVerdict> full_answer(const Problem& problem, const Choices& choices, const Stop& stop);

}  // namespace plimsoll::gui
