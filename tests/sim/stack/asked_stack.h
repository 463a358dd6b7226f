#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// Of one sequence of so many tokens in bf16-mixed.
inline Result<StackPrediction> asked_of_stack(const std::string& model, const StackSetup& setup, std::int64_t sequence, const char* gpu = "H100 SXM5 80GB") {
  Recipe recipe;
  recipe.sequence = sequence;
  recipe.precision = Precision::kBf16Mixed;
  return predict_stack(*resolve_model(model), recipe, setup, *find_gpu(built_in_gpu_catalogue(), gpu));
}

/// What is said of a question that is refused.
inline std::string stack_refusal(const std::string& model, const StackSetup& setup, std::int64_t sequence) {
  const auto made = asked_of_stack(model, setup, sequence);
  REQUIRE_FALSE(made);
  return made.error().what;
}

}  // namespace plimsoll
