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
  std::int64_t sharing = 1;  ///< GPUs that share a sample
  std::int64_t gpus = 1;     ///< in all
  double samples = 0;        ///< of the whole training; 0: not said
  StackPrediction prediction;
  std::vector<std::string> notes;
};

/// Samples a second of all GPUs, and the seconds of the whole training (0 where its length is not said).
double samples_per_second(const NetAnswer& answer);
double training_seconds(const NetAnswer& answer);

std::string net_text(const NetAnswer& answer);
/// The same as an object for --json.
std::string net_json(const NetAnswer& answer);
/// What the GPU's memory holds, as a table with the columns of a training's.
std::string net_csv(const NetAnswer& answer);

}  // namespace plimsoll
