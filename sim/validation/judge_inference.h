#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/published/published_row.h"
#include "sim/inference/inference_answer.h"

namespace plimsoll {

/// A published rate of inference beside what is predicted.
struct InferenceOutcome {
  const PublishedRow* row = nullptr;
  std::optional<InferenceAnswer> answer;
  std::string refusal;  ///< why there is no prediction

  /// (predicted − published) ÷ published tokens a second.
  [[nodiscard]] std::optional<double> error() const;
};

/// Predicts rows of inference by their own machine and policy; a policy that a row does not tell is searched. The rows must
/// outlive the outcomes.
std::vector<InferenceOutcome> judge_inference(const std::vector<PublishedRow>& rows);

}  // namespace plimsoll
