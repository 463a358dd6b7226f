#include "sim/stack/megatron/pipeline_states.h"

#include "sim/stack/optimizer_step.h"

namespace plimsoll {

PipelineStates::PipelineStates(Tape& tape, const Recipe& recipe, const StackSetup& setup)
    : tape_(tape), ranks_(setup.data_ranks), partitioned_(setup.zero > 0), bucket_elements_(setup.reduce_bucket) {
  for (const Parameter& parameter : tape.parameters()) {
    elements_ += parameter.value.elements();
    type_ = parameter.value.dtype;
  }
  weights_ = tape.empty({elements_}, type_, Holding::kParameters);
  const std::int64_t part = partitioned_ ? (elements_ + ranks_ - 1) / ranks_ : elements_;
  {
    const Tensor copied = tape.empty({part}, type_, Holding::kParameters);  // cloned, then made fp32
    master_.value = tape.empty({part}, DType::kFp32, Holding::kOptimizer);
  }
  master_.hidden_matrices = hidden_share(part, tape.parameters());
  // A first update with gradients of zero makes the states.
  master_.gradient = tape.empty({part}, DType::kFp32, Holding::kGradients);
  optimizer_step(tape, {&master_}, recipe, OptimizerLoop::kFused);
  master_.gradient = {};
}

/// The bucket's gradients side by side, summed over the ranks and copied back, behind all passes.
void PipelineStates::send_bucket(std::int64_t elements) {
  const Tensor flat = tape_.empty({elements}, type_, Holding::kGradients);
  tape_.stream(4 * traffic(flat), type_);
  const double share = static_cast<double>(ranks_ - 1) / static_cast<double>(ranks_);
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = type_, .blocking = true, .rounds = 2, .ranks = ranks_, .bytes = 2 * share * traffic(flat)});
}

void PipelineStates::reduce_gradients() {
  if (ranks_ < 2) return;
  std::int64_t filled = 0;
  for (const Parameter& parameter : tape_.parameters()) {
    const std::int64_t elements = parameter.value.elements();
    if (filled > 0 && filled + elements > bucket_elements_) {
      send_bucket(filled);
      filled = 0;
    }
    filled += elements;
  }
  if (filled > 0) send_bucket(filled);
}

/// ZeRO-1: the partition's gradients side by side, then in fp32; what other ranks update has gone before.
void PipelineStates::gather_own_gradients() {
  const std::int64_t part = master_.value.elements();
  std::int64_t begin = 0;
  for (Parameter& parameter : tape_.parameters()) {
    if (begin >= part) parameter.gradient = {};
    begin += parameter.value.elements();
  }
  Tensor flat = tape_.empty({part}, type_, Holding::kGradients);
  master_.gradient = tape_.empty({part}, DType::kFp32, Holding::kGradients);
  tape_.stream(static_cast<double>(2 * flat.bytes().count + master_.gradient.bytes().count));
  flat = {};
}

/// Without ZeRO every gradient is made fp32 by itself, and then all lie side by side as well.
void PipelineStates::convert_gradients_one_by_one() {
  Tensors converted;
  for (const Parameter& parameter : tape_.parameters()) converted.push_back(tape_.empty(parameter.value.shape, DType::kFp32, Holding::kGradients));
  master_.gradient = tape_.empty(master_.value.shape, DType::kFp32, Holding::kGradients);
  tape_.stream(static_cast<double>(elements_ * size_of(type_) + 3 * master_.gradient.bytes().count));
}

void PipelineStates::update(const Recipe& recipe) {
  partitioned_ ? gather_own_gradients() : convert_gradients_one_by_one();
  for (Parameter& parameter : tape_.parameters()) parameter.gradient = {};
  if (recipe.clip > 0) clip_gradients(tape_, {&master_});
  optimizer_step(tape_, {&master_}, recipe, OptimizerLoop::kFused);
  master_.gradient = {};
  if (!partitioned_ || ranks_ < 2) return;
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = type_, .ranks = ranks_,
                .bytes = traffic(weights_) * static_cast<double>(ranks_ - 1) / static_cast<double>(ranks_)});
}

}  // namespace plimsoll
