#include "sim/stack/sharing/partitioned_states.h"

#include <algorithm>

#include "sim/stack/optimizer_step.h"

namespace plimsoll {
namespace {

/// Buckets are filled and sent in turns when communication overlaps with backward.
constexpr std::size_t kOverlappingBuffers = 2;
constexpr std::uint8_t kReductionStream = 2;

}  // namespace

PartitionedStates::PartitionedStates(Tape& tape, const Recipe& recipe, const StackSetup& setup)
    : StateSharing(tape),
      ranks_(setup.zero > 0 ? setup.data_ranks : 1),
      data_ranks_(setup.data_ranks),
      stage_(setup.zero),
      home_(setup.optimizer),
      bucket_elements_(setup.reduce_bucket),
      overlaps_(setup.overlaps_communication && setup.zero >= 2),
      selected_share_(setup.selected_share),
      update_every_(setup.update_every),
      delayed_(setup.delayed_update && offloads()),
      forward_share_(setup.recomputation == Recomputation::kNone ? 1.0 / 3 : 1.0 / 4),
      recipe_(recipe) {
  for (Parameter& parameter : tape.parameters()) {
    if (!parameter.trained) continue;
    trained_ += parameter.value.elements();
    largest_ = std::max(largest_, parameter.value.elements());
    type_ = parameter.value.dtype;
    if (stage_ > 0) parameter.after_gradient = [this](Parameter& ready) { take(ready); };
  }
  const std::int64_t part = (trained_ + ranks_ - 1) / ranks_;
  master_.value = {.storage = nullptr, .shape = {part}, .dtype = DType::kFp32};
  master_.hidden_matrices = hidden_share(part, tape.parameters());
  if (selected_share_ > 0) {
    const auto chosen = static_cast<std::int64_t>(selected_share_ * static_cast<double>(part));
    selected_.value = tape.empty({chosen}, DType::kFp32, Holding::kOptimizer);
    selected_.hidden_matrices = hidden_share(chosen, tape.parameters());
    selected_.gradient = selected_.value;  // where they lie among the others' is not told
    optimizer_step(tape, {&selected_}, recipe, OptimizerLoop::kFused);
    selected_.gradient = {};
  }
  if (offloads()) {
    summed_ = tape.empty({largest_}, type_, Holding::kGradients);
    return;
  }
  master_.value = tape.empty({part}, DType::kFp32, Holding::kOptimizer);
  if (stage_ == 0) return;
  // A first update with gradients of zero makes the states.
  master_.gradient = tape.empty({part}, DType::kFp32, Holding::kGradients);
  optimizer_step(tape, {&master_}, recipe, setup.loop);
  master_.gradient = {};
}

void PartitionedStates::begin(bool last_micro_batch) {
  last_micro_batch_ = last_micro_batch;
  ++micro_batches_;
  // The update of the step before runs beside forward and backward, in each for as long as its part of the kernels.
  if (delayed_ && micro_batches_ == 1) update_part_beside(forward_share_);
}

/// The buckets are there before the first gradient is, beside all that the loss keeps.
void PartitionedStates::begin_backward() {
  if (stage_ != 2) return;
  for (std::size_t i = 0; i < (overlaps_ ? kOverlappingBuffers : 1); ++i) {
    buffers_.push_back(tape_.empty({bucket_elements_}, type_, Holding::kGradients));
  }
}

std::uint8_t PartitionedStates::reduction_stream() const { return overlaps_ ? kReductionStream : 0; }

void PartitionedStates::take(Parameter& parameter) {
  if (stage_ < 2 && !last_micro_batch_) return;  // ZeRO-1 sums whole gradients over micro-batches and reduces them once
  const std::int64_t elements = parameter.value.elements();
  if (bucket_filled_ > 0 && bucket_filled_ + elements > bucket_elements_) reduce_bucket();
  in_bucket_.push_back(&parameter);
  bucket_filled_ += elements;
  if (stage_ < 2 || elements > bucket_elements_) return;
  tape_.stream(2 * traffic(parameter.gradient), type_);
  parameter.gradient.storage = buffers_.front().storage;
}

void PartitionedStates::reduce_bucket() {
  if (in_bucket_.empty()) return;
  const double bytes = static_cast<double>(bucket_filled_ * size_of(type_));
  // What is sent is a copy, in stage 2 too: the bucket's parts of all ranks, one behind the other (DeepSpeed since 2023).
  Tensor flat = tape_.empty({bucket_filled_}, type_, Holding::kGradients, reduction_stream());
  collective(bytes, ranks_, type_, stage_ < 2 ? 2 : 1);
  if (stage_ == 2) {
    flat = {};
    keep_own_part(bytes);
    for (Parameter* parameter : in_bucket_) parameter->gradient = {};
    if (buffers_.size() > 1) std::swap(buffers_[0], buffers_[1]);
  }
  in_bucket_.clear();
  bucket_filled_ = 0;
}

void PartitionedStates::keep_own_part(double bytes) {
  const double own = bytes / static_cast<double>(ranks_);
  if (offloads()) {
    if (last_micro_batch_) {
      for (const Parameter* parameter : in_bucket_) convert_for_host(*parameter);
    }
    send_to_host(own * (1 - selected_share_));
    return;
  }
  if (!own_gradients_) own_gradients_ = tape_.empty(master_.value.shape, type_, Holding::kGradients);
  tape_.stream(2 * own, type_);
}

/// Of the rank that has the whole gradient: in fp64 for its norm; in fp32 with three masks and their sum for what is no number; and in
/// fp32 as it is sent (deepspeed/runtime/zero/stage_1_and_2.py). Their time is not told.
void PartitionedStates::convert_for_host(const Parameter& parameter) {
  const Shape own{std::min(parameter.value.elements(), master_.value.elements())};
  const auto copy = [&](DType type) { return tape_.empty(own, type, Holding::kGradients, reduction_stream()); };
  copy(DType::kFp64);
  {
    const Tensor numbers = copy(DType::kFp32);
    const Tensors masks{copy(kMaskType), copy(kMaskType), copy(kMaskType)};
    copy(DType::kFp32);
  }
  copy(DType::kFp32);
}

/// Sums over micro-batches are fetched, added on the GPU and sent back, and the kernels wait for that.
void PartitionedStates::send_to_host(double bytes) {
  const bool sums = micro_batches_ > 1;
  if (sums) tape_.launch({.sort = StackKernelSort::kToDevice, .dtype = type_, .blocking = true, .bytes = bytes});
  if (sums) tape_.stream(3 * bytes, type_);
  tape_.launch({.sort = StackKernelSort::kToHost, .dtype = type_, .blocking = sums, .bytes = bytes});
  if (last_micro_batch_ && home_ == Home::kDrive) {
    tape_.launch({.sort = StackKernelSort::kToDrive, .dtype = type_, .bytes = bytes * 4 / static_cast<double>(size_of(type_))});
  }
}

void PartitionedStates::end() {
  if (stage_ == 0 && last_micro_batch_) collective(static_cast<double>(trained_ * size_of(type_)), data_ranks_, type_, 2);
  reduce_bucket();
  buffers_.clear();
  if (!last_micro_batch_) return;
  if (selected_share_ > 0) update_part_beside((1 - selected_share_) / static_cast<double>(update_every_));
  if (delayed_) update_part_beside(1 - forward_share_);
}

/// A share of the update beside the kernels of a step; ZenFlow copies its new weights there, too.
void PartitionedStates::update_part_beside(double share) {
  update_in_host_memory(recipe_, master_, type_, home_, share);
  if (delayed_) return;
  const auto part = static_cast<std::int64_t>(share * static_cast<double>(master_.value.elements()));
  tape_.launch(
      {.sort = StackKernelSort::kToDevice, .dtype = type_, .bytes = static_cast<double>(part * size_of(type_))});
}

void PartitionedStates::update_selected(const Recipe& recipe) {
  for (Parameter& parameter : tape_.parameters()) parameter.gradient = {};
  // Norms of all columns are compared, the largest picked and updated.
  tape_.stream(static_cast<double>(master_.value.elements() * size_of(type_)), type_);
  selected_.gradient = tape_.empty(selected_.value.shape, DType::kFp32, Holding::kGradients);
  optimizer_step(tape_, {&selected_}, recipe, OptimizerLoop::kFused);
  selected_.gradient = {};
}

void PartitionedStates::update_on_device(const Recipe& recipe, OptimizerLoop loop) {
  // Each of the partition's gradients in fp64 for their norm; then side by side, and in fp32.
  if (recipe.clip > 0) tape_.empty({std::min(largest_, master_.value.elements())}, DType::kFp64, Holding::kGradients);
  Tensor flat = own_gradients_ ? std::exchange(own_gradients_, {}) : tape_.empty(master_.value.shape, type_, Holding::kGradients);
  master_.gradient = tape_.empty(master_.value.shape, DType::kFp32, Holding::kGradients);
  tape_.stream(static_cast<double>(flat.bytes().count + master_.gradient.bytes().count));
  flat = {};
  for (Parameter& parameter : tape_.parameters()) parameter.gradient = {};
  step({&master_}, recipe, loop);
  master_.gradient = {};
  tape_.stream(static_cast<double>(master_.value.elements() * (4 + size_of(type_))));
}

void PartitionedStates::update_on_host(const Recipe& recipe) {
  for (Parameter& parameter : tape_.parameters()) parameter.gradient = {};
  // A delayed update runs beside the kernels, but weights in use take no new ones: they are changed when the step ends.
  if (!delayed_) update_in_host_memory(recipe, master_, type_, home_);
  tape_.launch({.sort = StackKernelSort::kToDevice, .dtype = type_, .bytes = static_cast<double>(master_.value.elements() * size_of(type_))});
}

void PartitionedStates::update(const Recipe& recipe, OptimizerLoop loop) {
  if (selected_share_ > 0) {
    update_selected(recipe);
  } else if (offloads()) {
    update_on_host(recipe);
  } else {
    update_on_device(recipe, loop);
  }
  if (stage_ > 0) collective(static_cast<double>(trained_ * size_of(type_)), ranks_, type_);
  micro_batches_ = 0;
}

/// Master copy, states and the gradients in fp32, pinned; on a drive, the gradients and the buffers alone stay.
Bytes PartitionedStates::host() const {
  const std::int64_t part = master_.value.elements();
  if (home_ == Home::kHost) return Bytes(8 * part) + state_bytes(master_, recipe_.optimizer);
  return home_ == Home::kDrive ? Bytes(4 * part) : Bytes(0);
}

Bytes PartitionedStates::drive() const {
  if (home_ != Home::kDrive) return Bytes(0);
  return Bytes(4 * master_.value.elements()) + state_bytes(master_, recipe_.optimizer);
}

}  // namespace plimsoll
