#pragma once

#include <deque>
#include <vector>

#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Megatron-LM's buffers: gradients side by side in fp32 (two bytes with fp16, or where they are reduced in bf16), an fp32
/// copy of two-byte weights with its states, and with the distributed optimizer weights side by side and a rank's share of copy and states. Under DeepSpeed's
/// pipeline autograd's own gradients stay beside what is summed up in fp32.
class MegatronStates {
 public:
  MegatronStates(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void reduce_gradients();
  void update(const Recipe& recipe);

 private:
  void make_masters(const Recipe& recipe);

  Tape& tape_;
  std::int64_t ranks_;  ///< that share gradients and states: context ranks have the same weights as data ranks
  bool distributed_;
  std::int64_t elements_ = 0;
  DType type_ = DType::kBf16;  ///< of gradients, and of weights that are not in 8 bits
  Bytes weight_bytes_;
  Tensor weights_;    ///< side by side, of the distributed optimizer
  Tensor gradients_;
  Tensor own_gradients_;  ///< autograd's, in two bytes
  std::deque<Parameter> masters_;
};

/// Whether weights are made without memory, because they will lie side by side.
bool joins_weights(const StackSetup& setup);

}  // namespace plimsoll
