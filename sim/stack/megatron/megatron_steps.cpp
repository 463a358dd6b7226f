#include "sim/stack/megatron/megatron_steps.h"

#include <algorithm>
#include <deque>

#include "sim/stack/megatron/megatron_states.h"

namespace plimsoll {
namespace {

// Transformer Engine's cuBLAS workspace.
constexpr Bytes kEngineWorkspace = 4 * kMiB;
constexpr Bytes kEngineWorkspaceHopper = 32 * kMiB;

Bytes engine_workspace_bytes(const StackSetup& setup, std::string_view capability) {
  if (!setup.transformer_engine) return {};
  const bool older = capability < "9.0" && capability.size() == 3;
  return older ? kEngineWorkspace : kEngineWorkspaceHopper;
}

Tensor engine_workspace(Tape& tape, const StackSetup& setup, std::string_view capability) {
  const Bytes workspace = engine_workspace_bytes(setup, capability);
  return workspace > Bytes(0) ? tape.empty({workspace.count}, kMaskType, Holding::kWorkspace) : Tensor{};
}

/// A chunk that went forward and waits for its backward pass.
struct Waiting {
  Tensor input;
  Tensor output;
};

/// Tokens, labels, positions, weights of losses, and a mask for every sequence.
Tensors batch_of(Tape& tape, const MegatronCut& cut) {
  Tensors held;
  for (int i = 0; i < 3; ++i) held.push_back(tape.empty({cut.rows()}, kIndexType));
  held.push_back(tape.empty({cut.rows()}, DType::kFp32));
  held.push_back(tape.empty({cut.rows() * cut.sequence}, kMaskType));
  return held;
}

void send(Tape& tape, const MegatronCut& cut, std::int64_t width) {
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = cut.type, .among = Among::kStages,
               .bytes = static_cast<double>(cut.stream_rows() * width * size_of(cut.type))});
}

class StageRun {
 public:
  StageRun(Tape& tape, MegatronStage& stage, std::int64_t width, const StackSetup& setup)
      : tape_(tape), stage_(stage), width_(width), keeps_outputs_(setup.stack == Stack::kDeepspeed),
        waiting_(static_cast<std::size_t>(setup.chunks)) {}

  void pass(const StagePass& pass) {
    tape_.next_turn();
    pass.backward ? backward(pass.chunk) : forward(pass.chunk);
  }

 private:
  void forward(std::int64_t chunk) {
    tape_.phase(Phase::kForward);
    tape_.at("batch");
    if (stage_.is_first(chunk) || stage_.is_last(chunk)) batch_ = batch_of(tape_, stage_.cut());
    Waiting made;
    if (!stage_.is_first(chunk)) made.input = stage_.received();
    made.output = stage_.forward(made.input, chunk);
    if (!stage_.is_last(chunk)) {
      send(tape_, stage_.cut(), width_);
      if (!keeps_outputs_) made.output.storage.reset();  // the next stage has it; its history is enough
    }
    waiting_[static_cast<std::size_t>(chunk)].push_back(std::move(made));
  }

  void backward(std::int64_t chunk) {
    tape_.phase(Phase::kBackward);
    tape_.at("loss");
    auto& queue = waiting_[static_cast<std::size_t>(chunk)];
    Waiting done = std::move(queue.front());
    queue.pop_front();
    const Shape shape = done.output.shape;
    Tensors gradients;
    gradients.push_back(tape_.empty(shape, stage_.is_last(chunk) ? DType::kFp32 : stage_.cut().type));
    Tensors inputs;
    if (done.input) inputs.push_back(std::move(done.input));
    Tensors roots;
    roots.push_back(std::move(done.output));
    sent_ = {};
    sent_ = tape_.backward_to(roots, std::move(gradients), inputs);
    if (!inputs.empty()) send(tape_, stage_.cut(), width_);
  }

  Tape& tape_;
  MegatronStage& stage_;
  std::int64_t width_;
  bool keeps_outputs_;  ///< DeepSpeed's pipeline does until their backward pass is done
  Tensors batch_;
  Tensors sent_;  ///< the gradient of the last input, until the next one is there
  std::vector<std::deque<Waiting>> waiting_;
};

}  // namespace

std::vector<StagePass> stage_passes(std::int64_t stage, std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) {
  const std::int64_t total = micro_batches * chunks;
  std::int64_t warm = stages - stage - 1;
  if (chunks > 1) warm = micro_batches == stages ? total : 2 * warm + (chunks - 1) * stages;
  warm = std::min(warm, total);
  const auto chunk_of = [&](std::int64_t i) { return chunks > 1 ? i % (stages * chunks) / stages : 0; };
  std::vector<StagePass> passes;
  for (std::int64_t i = 0; i < warm; ++i) passes.push_back({.backward = false, .chunk = chunk_of(i)});
  for (std::int64_t i = warm; i < total + warm; ++i) {
    if (i < total) passes.push_back({.backward = false, .chunk = chunk_of(i)});
    passes.push_back({.backward = true, .chunk = chunks - 1 - chunk_of(i - warm)});
  }
  return passes;
}

StepMarks run_megatron_steps(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::int64_t stage,
                             std::string_view capability) {
  StepMarks marks;
  tape.at("model");
  const Tensor engine = engine_workspace(tape, setup, capability);
  tape.without_memory(joins_weights(recipe, setup));
  MegatronStage model(tape, spec, recipe, setup, stage, megatron_cut(spec, recipe, setup, capability));
  Tensors workspaces;
  if (spec.experts.count > 0) {
    workspaces = expert_workspaces(tape, spec, model.cut(), expert_cut(setup, model.cut()), engine_workspace_bytes(setup, capability));
  }
  const auto states = stage_states(tape, recipe, setup);
  marks.model = tape.log().events().size();
  StageRun run(tape, model, spec.hidden, setup);
  for (std::int64_t step = 1; step <= kSimulatedSteps; ++step) {
    tape.step(step);
    marks.steady = tape.log().events().size();
    tape.forget_kernels();
    for (const StagePass& pass : stage_passes(stage, setup.stages, setup.chunks, recipe.accumulate)) run.pass(pass);
    states->reduce_gradients();
    tape.phase(Phase::kOptimizer);
    tape.at("optimizer");
    states->update(recipe);
    marks.last_step = tape.log().events().size();
    if (step == 1) marks.first_step = marks.last_step;
  }
  return marks;
}

}  // namespace plimsoll
