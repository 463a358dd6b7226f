#include "sim/stack/recorded/recorded_model.h"

#include <algorithm>
#include <string_view>

#include "sim/stack/recorded/recorded_maker.h"
#include "sim/stack/tape/accumulate_gradient.h"

namespace plimsoll {

/// Tensors by the numbers of their storages; empty ones are not there.
struct RecordedModel::Pass {
  std::vector<Tensor> live;
};

namespace {

StackKernelSort sort_of(LaunchSort sort) {
  switch (sort) {
    case LaunchSort::kProduct: return StackKernelSort::kProduct;
    case LaunchSort::kAttention: return StackKernelSort::kAttention;
    case LaunchSort::kConvolution: return StackKernelSort::kConvolution;
    case LaunchSort::kStream: return StackKernelSort::kStream;
  }
  return StackKernelSort::kStream;
}

/// PyTorch takes it to cuBLASLt.
constexpr std::string_view kProductWithBias = "addmm";

Tensor bytes_on(Tape& tape, Bytes bytes, Holding holding) { return tape.empty({bytes.count}, kMaskType, holding); }

}  // namespace

RecordedModel::RecordedModel(Tape& tape, std::shared_ptr<const StepGraph> graph) : tape_(tape), graph_(std::move(graph)) {
  for (const GraphParameter& parameter : graph_->parameters)
    parameters_.push_back(&tape.parameter(parameter.name, parameter.shape, parameter.dtype, parameter.trained));
  for (const std::uint32_t buffer : graph_->buffers) held_.push_back(bytes_on(tape, graph_->storages[buffer], Holding::kParameters));
  for (const std::uint32_t input : graph_->inputs) held_.push_back(bytes_on(tape, graph_->storages[input], Holding::kActivations));
}

StackModel::Loss RecordedModel::loss(std::optional<DType>) {
  const auto pass = std::make_shared<Pass>();
  pass->live.resize(graph_->storages.size());
  const auto& ops = graph_->ops;
  const auto backward = std::find_if(ops.begin(), ops.end(), [](const GraphOp& op) { return op.phase == Phase::kBackward; });
  for (auto op = ops.begin(); op != backward; ++op) run(*pass, *op);
  Tensor made = std::move(pass->live[graph_->loss]);
  made.shape = {1};
  made.dtype = DType::kFp32;
  const auto trained = std::find_if(parameters_.begin(), parameters_.end(), [](const Parameter* p) { return p->trained; });
  if (trained == parameters_.end()) return {.loss = std::move(made), .logits = {}};
  const Tensor leaf = (*trained)->use();
  // The recording hands gradients to their parameters itself, each when it was ready.
  made = tape_.record(std::move(made), {&leaf}, [this, pass, backward](Tape&, Tensors) {
    for (auto op = backward; op != graph_->ops.end(); ++op) run(*pass, *op);
    return Tensors{};
  });
  return {.loss = std::move(made), .logits = {}};
}

void RecordedModel::run(Pass& pass, const GraphOp& op) {
  enter(op.at.empty() ? op.name : op.at);
  for (const std::uint32_t made : op.makes) pass.live[made] = bytes_on(tape_, graph_->storages[made], Holding::kActivations);
  tape_.again(op.again);
  if (op.name == kProductWithBias) tape_.bias_workspace();
  for (const GraphLaunch& each : op.launches) launch(each);
  tape_.again(false);
  for (const GraphGradient& gradient : op.gradients) {
    Parameter& parameter = *parameters_[gradient.parameter];
    Tensor value = std::move(pass.live[gradient.storage]);
    if (!value) continue;  // two parameters with one gradient
    value.shape = parameter.value.shape;
    value.dtype = parameter.value.dtype;
    accumulate_gradient(tape_, parameter, std::move(value));
  }
  for (const std::uint32_t freed : op.frees) pass.live[freed] = {};
}

void RecordedModel::launch(const GraphLaunch& launch) {
  if (launch.sort == LaunchSort::kProduct) {
    tape_.product(launch.batch, launch.m, launch.n, launch.k, launch.dtype);
    return;
  }
  tape_.launch({.sort = sort_of(launch.sort), .dtype = launch.dtype, .backward = launch.backward, .causal = launch.causal,
                .batch = launch.batch, .m = launch.m, .n = launch.n, .k = launch.k, .flops = launch.flops, .bytes = launch.bytes});
}

void RecordedModel::enter(const std::string& module) {
  if (tape_.places().back().what != module) tape_.at(module);
}

StackModelMaker recorded_maker(std::shared_ptr<const StepGraph> graph) {
  return [graph = std::move(graph)](Tape& tape, DType) { return std::make_unique<RecordedModel>(tape, graph); };
}

}  // namespace plimsoll
