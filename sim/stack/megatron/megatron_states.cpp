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
    : tape_(tape), distributed_(joins_weights(recipe, setup)), pipelined_(setup.stack == Stack::kDeepspeed) {
  const std::int64_t copies = setup.data_ranks * setup.context_ranks;
  parts_.push_back({.experts = false, .ranks = copies, .weight_bytes = {}, .weights = {}, .gradients = {}, .own_gradients = {}});
  const auto experts = std::any_of(tape.parameters().begin(), tape.parameters().end(), [](const Parameter& own) { return own.of_expert; });
  if (experts) {
    const std::int64_t each = setup.expert_tensor_ranks.value_or(setup.tensor_ranks);
    parts_.push_back({.experts = true, .ranks = copies * setup.tensor_ranks / (setup.expert_ranks * each), .weight_bytes = {}, .weights = {},
                      .gradients = {}, .own_gradients = {}});
  }
  for (Part& part : parts_) part.sharing = std::max<std::int64_t>(1, part.ranks / setup.optimizer_instances);
  count_parameters();
  make_buffers(setup);
  make_masters();
  if (pipelined_) make_states(recipe);
}

void MegatronStates::count_parameters() {
  for (Parameter& parameter : tape_.parameters()) {
    Part& part = part_of(parameter);
    part.elements += parameter.value.elements();
    if (parameter.trained) part.hidden += parameter.hidden_matrices;
    part.weight_bytes = part.weight_bytes + parameter.value.bytes();
    if (parameter.value.dtype != kFp8Type) type_ = parameter.value.dtype;
    // What autograd hands over is added into the buffer at once.
    parameter.after_gradient = [&tape = tape_](Parameter& ready) {
      tape.stream(2 * traffic(ready.gradient), DType::kFp32);
      ready.gradient = {};
    };
  }
}

void MegatronStates::make_buffers(const StackSetup& setup) {
  const bool wide = type_ != DType::kFp16 && (size_of(type_) > 2 || !setup.reduces_in_half);
  for (Part& part : parts_) {
    if (distributed_) part.weights = tape_.empty({part.weight_bytes.count}, kMaskType, Holding::kParameters);
    part.gradients = tape_.empty({part.elements}, wide ? DType::kFp32 : type_, Holding::kGradients);
    if (pipelined_ && wide && size_of(type_) == 2) part.own_gradients = tape_.empty({part.elements}, type_, Holding::kGradients);
  }
}

/// DeepSpeed updates once before the first step, with gradients of zero.
void MegatronStates::make_states(const Recipe& recipe) {
  std::vector<Parameter*> trained;
  for (Parameter& master : masters_) {
    const Tensor& gradients = part_of(master).gradients;
    master.gradient = {.storage = gradients.storage, .shape = master.value.shape, .dtype = gradients.dtype};
    trained.push_back(&master);
  }
  optimizer_step(tape_, trained, recipe, OptimizerLoop::kFused);
  for (Parameter& master : masters_) master.gradient = {};
}

void MegatronStates::make_masters() {
  for (const Part& part : parts_) {
    if (!distributed_) break;
    Parameter& made = masters_.emplace_back();
    made.of_expert = part.experts;
    made.value = tape_.empty({(part.elements + part.sharing - 1) / part.sharing}, DType::kFp32, Holding::kOptimizer);
    const double own = static_cast<double>(made.value.elements());
    made.hidden_matrices = part.elements > 0 ? static_cast<std::int64_t>(own * static_cast<double>(part.hidden) / static_cast<double>(part.elements)) : 0;
  }
  if (distributed_) return;
  for (Parameter& parameter : tape_.parameters()) {
    Parameter& made = masters_.emplace_back();
    made.of_expert = parameter.of_expert;
    made.value = size_of(type_) == 2 ? tape_.empty(parameter.value.shape, DType::kFp32, Holding::kOptimizer) : parameter.value;
    made.hidden_matrices = parameter.hidden_matrices;
  }
}

void MegatronStates::launch_reduction(const Part& part, double bytes) {
  const double share = static_cast<double>(part.ranks - 1) / static_cast<double>(part.ranks);
  const bool scatters = distributed_ && !pipelined_;
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = part.gradients.dtype, .blocking = pipelined_,
                .among = part.experts ? Among::kExpertCopies : Among::kData, .rounds = static_cast<std::uint8_t>(scatters ? 1 : 2), .ranks = part.ranks, .bytes = (scatters ? 1 : 2) * share * bytes});
}

void MegatronStates::reduce(const Part& part) {
  if (part.ranks < 2) return;
  if (!pipelined_) return launch_reduction(part, traffic(part.gradients));
  for (std::int64_t begin = 0; begin < part.elements; begin += kPipelineBucket) {
    const Tensor flat = tape_.empty({std::min(kPipelineBucket, part.elements - begin)}, part.gradients.dtype, Holding::kGradients);
    tape_.stream(4 * traffic(flat), flat.dtype);
    launch_reduction(part, traffic(flat));
  }
}

void MegatronStates::reduce_gradients() {
  for (const Part& part : parts_) reduce(part);
}

void MegatronStates::gather_weights(const Part& part) {
  if (part.ranks < 2) return;
  tape_.launch({.sort = StackKernelSort::kCollective, .dtype = type_, .among = part.experts ? Among::kExpertCopies : Among::kData, .ranks = part.ranks,
                .bytes = traffic(part.weights) * static_cast<double>(part.ranks - 1) / static_cast<double>(part.ranks)});
}

void MegatronStates::update(const Recipe& recipe) {
  std::vector<Parameter*> trained;
  for (Parameter& master : masters_) {
    const Tensor& gradients = part_of(master).gradients;
    master.gradient = master.value;
    if (gradients.dtype == DType::kFp32) {
      master.gradient.storage = gradients.storage;
    } else {
      master.gradient = tape_.empty(master.value.shape, DType::kFp32, Holding::kGradients);
    }
    trained.push_back(&master);
  }
  if (recipe.clip > 0) clip_gradients(tape_, trained);
  optimizer_step(tape_, trained, recipe, OptimizerLoop::kFused);
  for (Parameter& master : masters_) master.gradient = {};
  for (const Part& part : parts_) {
    if (distributed_) gather_weights(part);
  }
}

}  // namespace plimsoll
