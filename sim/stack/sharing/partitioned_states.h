#pragma once

#include "sim/stack/sharing/state_sharing.h"

namespace plimsoll {

/// DeepSpeed's ZeRO up to stage 2 (stage 0: its fp16 optimizer alone): an fp32 partition of all trained parameters with
/// its states from the beginning on, gradients that pass through reduction buckets of a fixed size, and from stage 2 on
/// only the own partition of them kept. States that wait in host memory take their gradients there (ZeRO-Offload), converted on the GPU.
/// ZenFlow's important columns are updated on the GPU in every step, the others in host memory every few steps, beside
/// what the GPU computes; so are all of them where updates come one step late.
class PartitionedStates : public StateSharing {
 public:
  PartitionedStates(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void begin(bool last_micro_batch) override;
  void begin_backward() override;
  void end() override;
  void update(const Recipe& recipe, OptimizerLoop loop) override;
  [[nodiscard]] Bytes host() const override;
  [[nodiscard]] Bytes drive() const override;

 private:
  void take(Parameter& parameter);
  void reduce_bucket();
  void keep_own_part(double bytes);
  void send_to_host(double bytes);
  void convert_for_host(const Parameter& parameter);
  void update_on_device(const Recipe& recipe, OptimizerLoop loop);
  void update_on_host(const Recipe& recipe);
  void update_selected(const Recipe& recipe);
  void update_part_beside(double share);
  [[nodiscard]] bool offloads() const { return home_ != Home::kDevice; }
  /// Of the allocator: what reduces beside the backward pass has blocks of its own.
  [[nodiscard]] std::uint8_t reduction_stream() const;

  std::int64_t ranks_;         ///< that share states
  std::int64_t data_ranks_;
  bool last_micro_batch_ = true;
  std::int64_t micro_batches_ = 0;  ///< of this step, so far
  int stage_;
  Home home_;
  std::int64_t bucket_elements_;
  bool overlaps_;
  DType type_ = DType::kFp16;
  Parameter master_;
  Parameter selected_;         ///< ZenFlow's: columns whose states stay on the GPU
  double selected_share_ = 0;
  std::int64_t update_every_ = 1;
  bool delayed_ = false;      ///< host memory updates with the gradients of the step before
  double forward_share_ = 0;  ///< of a step's kernels
  const Recipe& recipe_;
  std::int64_t trained_ = 0;
  std::int64_t largest_ = 0;  ///< of the trained parameters
  std::int64_t bucket_filled_ = 0;
  std::vector<Parameter*> in_bucket_;
  Tensors buffers_;
  Tensor summed_;  ///< room for what a gradient is added to that waits in host memory
  Tensor own_gradients_;
};

}  // namespace plimsoll
