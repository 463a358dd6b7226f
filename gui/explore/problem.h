#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "gui/explore/choices.h"
#include "sim/answers/question.h"
#include "sim/cost/cost_model.h"

namespace plimsoll::gui {

/// What the choices mean: a model, how it is trained, and on what.
struct Problem {
  ModelSpec spec;
  Recipe recipe;
  Platform platform;
  std::optional<CataloguedMachine> machine;  ///< that `platform` is of; nothing: this computer
  std::shared_ptr<const CostModel> costs;
  std::vector<std::string> notes;  ///< what was assumed
};

/// Whether nobody said who trains, and plimsoll's own step has no kernels for the model, so that PyTorch is asked about on a GPU of
/// the catalogue, as `plimsoll fit` does. May read the model's file.
bool falls_back_to_pytorch(const Choices& choices);

/// This computer as the plimsoll program described it; `costs` are null where nothing was measured.
struct OwnComputer {
  Platform platform;
  std::shared_ptr<const CostModel> costs;
  std::vector<std::string> notes;
};

/// Reads the choices' model, and the machine that they name; `own` is used where that is this computer. May read files and
/// take tens of milliseconds. An error says which choice cannot be had, and why.
Result<Problem> make_problem(const Choices& choices, const OwnComputer* own);

}  // namespace plimsoll::gui
