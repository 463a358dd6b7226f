#include "sim/stack/megatron/megatron_states.h"

#include <algorithm>

#include "sim/stack/megatron/pipeline_states.h"
#include "sim/stack/optimizer_step.h"
#include "sim/stack/tape/fp8_products.h"

namespace plimsoll {
namespace {

/// DeepSpeed's pipeline reduces so many elements at once (its MEMORY_OPT_ALLREDUCE_SIZE).
constexpr std::int64_t kPipelineBucket = 500'000'000;

}  // namespace

bool joins_weights(const Recipe& recipe, const StackSetup& setup) {
  const bool two_bytes = recipe.precision != Precision::kFp32 && size_of(compute_dtype(recipe.precision)) == 2;
  return setup.zero > 0 || (setup.stack == Stack::kDeepspeed && two_bytes);
}

std::unique_ptr<StageStates> stage_states(Tape& tape, const Recipe& recipe, const StackSetup& setup) {
  const bool half = recipe.precision == Precision::kFp16Mixed;
  if (setup.stack == Stack::kDeepspeed && half) return std::make_unique<PipelineStates>(tape, recipe, setup);
  return std::make_unique<MegatronStates>(tape, recipe, setup);
}

MegatronStates::MegatronStates(Tape& tape, const Recipe& recipe, const StackSetup& setup)
    : tape_(tape),
      ranks_(setup.data_ranks * setup.context_ranks),
      distributed_(joins_weights(recipe, setup)),
      pipelined_(setup.stack == Stack::kDeepspeed) {
  for (Parameter& parameter : tape.parameters()) {
    elements_ += parameter.value.elements();
    weight_bytes_ = weight_bytes_ + parameter.value.bytes();
    if (parameter.value.dtype != kFp8Type) type_ = parameter.value.dtype;
    // What autograd hands over is added into the buffer at once.
    parameter.after_gradient = [&tape](Parameter& ready) {
      tape.stream(2 * traffic(ready.gradient), DType::kFp32);
      ready.gradient = {};
    };
  }
  if (distributed_) weights_ = tape.empty({weight_bytes_.count}, kMaskType, Holding::kParameters);
  const bool wide = type_ != DType::kFp16 && (size_of(type_) > 2 || !setup.reduces_in_half);
  gradients_ = tape.empty({elements_}, wide ? DType::kFp32 : type_, Holding::kGradients);
  if (setup.stack == Stack::kDeepspeed && wide && size_of(type_) == 2) own_gradients_ = tape.empty({elements_}, type_, Holding::kGradients);
  make_masters();
  if (pipelined_) make_states(recipe);
}

/// DeepSpeed updates once before the first step, with gradients of zero.
void MegatronStates::make_states(const Recipe& recipe) {
  std::vector<Parameter*> trained;
  for (Parameter& master : masters_) {
    master.gradient = {.storage = gradients_.storage, .shape = master.value.shape, .dtype = gradients_.dtype};
    trained.push_back(&master);
  }
  optimizer_step(tape_, trained, recipe, OptimizerLoop::kFused);
  for (Parameter& master : masters_) master.gradient = {};
}

void MegatronStates::make_masters() {
  if (distributed_) {
    Parameter& made = masters_.emplace_back();
    made.value = tape_.empty({(elements_ + ranks_ - 1) / ranks_}, DType::kFp32, Holding::kOptimizer);
    made.hidden_matrices = hidden_share(made.value.elements(), tape_.parameters());
    return;
  }
  for (Parameter& parameter : tape_.parameters()) {
    Parameter& made = masters_.emplace_back();
    made.value = size_of(type_) == 2 ? tape_.empty(parameter.value.shape, DType::kFp32, Holding::kOptimizer) : parameter.value;
    made.hidden_matrices = parameter.hidden_matrices;
  }
}

void MegatronStates::launch_reduction(double bytes) {
  const double share = static_cast<double>(ranks_ - 1) / static_cast<double>(ranks_);
  const bool scatters = distributed_ && !pipelined_;
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = gradients_.dtype, .rounds = static_cast<std::uint8_t>(scatters ? 1 : 2),
                .ranks = ranks_, .bytes = (scatters ? 1 : 2) * share * bytes});
}

void MegatronStates::reduce_gradients() {
  if (ranks_ < 2) return;
  if (!pipelined_) return launch_reduction(traffic(gradients_));
  for (std::int64_t begin = 0; begin < elements_; begin += kPipelineBucket) {
    const Tensor flat = tape_.empty({std::min(kPipelineBucket, elements_ - begin)}, gradients_.dtype, Holding::kGradients);
    tape_.stream(4 * traffic(flat), flat.dtype);
    launch_reduction(traffic(flat));
  }
}

void MegatronStates::update(const Recipe& recipe) {
  std::vector<Parameter*> trained;
  for (Parameter& master : masters_) {
    master.gradient = master.value;
    if (gradients_.dtype == DType::kFp32) {
      master.gradient.storage = gradients_.storage;
    } else {
      master.gradient = tape_.empty(master.value.shape, DType::kFp32, Holding::kGradients);
    }
    trained.push_back(&master);
  }
  if (recipe.clip > 0) clip_gradients(tape_, trained);
  optimizer_step(tape_, trained, recipe, OptimizerLoop::kFused);
  for (Parameter& master : masters_) master.gradient = {};
  if (!distributed_ || ranks_ < 2) return;
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = type_, .ranks = ranks_,
                .bytes = traffic(weights_) * static_cast<double>(ranks_ - 1) / static_cast<double>(ranks_)});
}

}  // namespace plimsoll
