#pragma once

#include <string>
#include <vector>

#include "formats/exporters/exported_training.h"

namespace plimsoll {

/// DeepSpeed's blocks "optimizer" and "scheduler", as JSON.
struct DeepspeedOptimizer {
  std::string optimizer;
  std::string scheduler;  ///< empty: a rate that stays
  bool on_cpu = false;    ///< DeepSpeed has a CPU kernel for it
};

/// The rule that DeepSpeed or torch.optim has for the recipe's. Refused, by name, where neither has one.
Result<DeepspeedOptimizer> deepspeed_optimizer(const ExportedTraining& training, std::vector<std::string>& notes);

}  // namespace plimsoll
