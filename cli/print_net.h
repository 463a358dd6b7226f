#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/recipe.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// What `fit` found about a net that no ModelSpec says.
struct NetAnswer {
  std::string name;
  std::string workload;  ///< "diffusion", "evoformer", "onnx"
  std::string gpu;
  Precision precision = Precision::kFp32;
  std::int64_t batch = 1;
  std::int64_t parameters = 0;
  double multiply_adds = 0;  ///< of one sample's forward pass
  StackPrediction prediction;
  std::vector<std::string> notes;
};

std::string net_text(const NetAnswer& answer);
/// The same as an object for --json.
std::string net_json(const NetAnswer& answer);

}  // namespace plimsoll
