#pragma once

#include "sim/stack/megatron/megatron_states.h"

namespace plimsoll {

/// DeepSpeed's fp16 optimizers under a pipeline (ZeRO up to stage 1): weights side by side and an fp32 partition with its states from
/// the beginning on; autograd's own gradients are summed in two bytes until the last backward pass, and reduced in buckets after it.
class PipelineStates : public StageStates {
 public:
  PipelineStates(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void reduce_gradients() override;
  void update(const Recipe& recipe) override;

 private:
  void send_bucket(std::int64_t elements);
  void gather_own_gradients();
  void convert_gradients_one_by_one();

  Tape& tape_;
  std::int64_t ranks_;  ///< that share the batch
  bool partitioned_;    ///< ZeRO-1
  std::int64_t bucket_elements_;
  std::int64_t elements_ = 0;
  DType type_ = DType::kFp16;
  Tensor weights_;  ///< side by side
  Parameter master_;
};

}  // namespace plimsoll
