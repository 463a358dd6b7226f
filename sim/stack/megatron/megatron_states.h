#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// What a stage holds of gradients and states, and does between the last backward pass and the next step.
class StageStates {
 public:
  StageStates() = default;
  virtual ~StageStates() = default;
  StageStates(const StageStates&) = delete;
  StageStates& operator=(const StageStates&) = delete;

  virtual void reduce_gradients() = 0;
  virtual void update(const Recipe& recipe) = 0;
};

/// Of the setup's program, for the stage that lies on the tape.
std::unique_ptr<StageStates> stage_states(Tape& tape, const Recipe& recipe, const StackSetup& setup);

/// Megatron-LM's buffers: gradients side by side in fp32 (two bytes with fp16, or where they are reduced in bf16), an fp32
/// copy of two-byte weights with its states, and with the distributed optimizer weights side by side and a rank's share of copy and states.
/// Experts that ranks share out have buffers of their own, which fewer ranks sum and share (their expert-data-parallel group). So does
/// DeepSpeed's bf16 optimizer under a pipeline, with its states from the beginning on; autograd's own gradients stay beside what it sums up in
/// fp32, and it reduces in buckets.
class MegatronStates : public StageStates {
 public:
  MegatronStates(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void reduce_gradients() override;
  void update(const Recipe& recipe) override;

 private:
  /// Parameters that the same ranks hold: all but the experts, and these.
  struct Part {
    bool experts = false;
    std::int64_t sharing = 1;  ///< that share states out: of one instance of the distributed optimizer
    std::int64_t ranks = 1;  ///< that share gradients and states: context ranks have the same weights as data ranks
    std::int64_t elements = 0;
    std::int64_t hidden = 0;  ///< of them, elements of matrices within blocks
    Bytes weight_bytes;
    Tensor weights;        ///< side by side, of the distributed optimizer
    Tensor gradients;
    Tensor own_gradients;  ///< autograd's, in two bytes
  };

  void count_parameters();
  void make_buffers(const StackSetup& setup);
  void make_masters();
  void make_states(const Recipe& recipe);
  [[nodiscard]] Part& part_of(const Parameter& parameter) { return parameter.of_expert && parts_.size() > 1 ? parts_.back() : parts_.front(); }
  void launch_reduction(const Part& part, double bytes);
  void reduce(const Part& part);
  void gather_weights(const Part& part);

  Tape& tape_;
  bool distributed_;
  bool pipelined_;  ///< by DeepSpeed
  DType type_ = DType::kBf16;  ///< of gradients, and of weights that are not in 8 bits
  std::vector<Part> parts_;
  std::deque<Parameter> masters_;
};

/// Whether weights are made without memory, because they will lie side by side.
bool joins_weights(const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
