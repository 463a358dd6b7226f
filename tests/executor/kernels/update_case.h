#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/optimizer_state.h"

namespace plimsoll::test {

/// One tensor of a group, as a reference sees it: weights of now, the same for all rules.
struct UpdatedTensor {
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  bool decays = false;
  std::vector<double> weights;
};

/// A group of two matrices and two vectors (embedding-like, odd sizes, one of them large enough for 8 bits and for several
/// tasks) with weights in [−1, 1).
std::vector<UpdatedTensor> updated_tensors();

/// Gradients of step `step`, tensor by tensor, in [−1, 1), every number representable as float; a few are 0.
std::vector<std::vector<double>> gradients_of(const std::vector<UpdatedTensor>& tensors, std::int64_t step);

struct UpdateOptions {
  DType dtype = DType::kFp64;
  std::int64_t workers = 2;
  std::int64_t shuffle = 0;
  bool versions = false;  ///< each step writes new states, as updates during backward do
  double factor = 0;      ///< of clipping; 0: the operand is left out
};

/// Runs the recipe's kernels over the group for so many steps and returns the tensors' weights.
std::vector<std::vector<double>> run_updates(const Recipe& recipe, std::int64_t steps, const UpdateOptions& options = {});

}  // namespace plimsoll::test
