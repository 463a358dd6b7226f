#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/stack/operators/operator_case.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Where the gradient of an operator's result comes from.
enum class ResultGradient : std::uint8_t {
  kScalar,  ///< the result is a loss (or is summed): one number, spread without memory
  kHeld,    ///< a tensor as large as the result that is there all the time
};

/// What a benchmark has prepared: leaves live on the tape, the rest is here.
struct OperatorTest {
  Tensors held;  ///< inputs without gradient, modules of other providers
  /// One repetition's results; each is given a gradient.
  std::function<Tensors()> forward;
  ResultGradient gradient = ResultGradient::kHeld;
  /// Gradients of leaves are dropped before each repetition; otherwise they are added up through all of them.
  bool drops_gradients = false;
  bool retains_graph = false;  ///< backward(retain_graph=True): what nodes saved stays through backward
  /// Type of the gradient that is held; autograd casts it where the result has another, and keeps the cast through
  /// backward.
  std::optional<DType> gradient_type;
  bool always_full = false;  ///< the benchmark runs forward and backward whatever mode it is asked for
};

/// Peak of the allocator's blocks in a repetition of `test` after several others: what torch.cuda.max_memory_allocated
/// tells.
Bytes measure_operator(Tape& tape, const OperatorTest& test, OperatorMode mode);

/// A leaf as the nodes of one repetition see it: its uses' gradients are summed before they are added to the leaf's
/// own.
Tensor leaf(Tape& tape, Parameter& parameter);

}  // namespace plimsoll
