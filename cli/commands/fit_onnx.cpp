#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/commands/fit_workload.h"
#include "cli/inputs/target_machine.h"
#include "cli/print/print_net.h"
#include "cli/print/waiting_line.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/models/onnx_file.h"
#include "sim/stack/nets/net_zoo.h"
#include "sim/stack/nets/onnx_use.h"

namespace plimsoll {
namespace {

/// The file with what the user asks of it.
struct OnnxTask {
  std::shared_ptr<const OnnxGraph> graph;
  OnnxUse use;
  Recipe recipe;
  StackSetup setup;
  GpuEntry gpu;
};

tl::unexpected<Error> refuse(std::string what, std::string where, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

Result<Recipe> recipe_of(const WorkloadRequest& request, const GpuEntry& gpu, std::int64_t batch) {
  Recipe recipe;
  recipe.micro_batch = batch;
  recipe.precision = default_precision(gpu).precision;
  if (!request.training.precision.empty()) {
    const auto precision = parse_precision(request.training.precision);
    if (!precision) return fail(precision.error());
    recipe.precision = *precision;
  }
  const auto optimizer = parse_optimizer(request.training.optimizer);
  if (!optimizer) return fail(optimizer.error());
  return with_optimizer(recipe, *optimizer);
}

/// Where the training would run.
Result<void> take_machine(const WorkloadRequest& request, OnnxTask& task) {
  if (request.machine.gpu.empty() || request.machine.gpu == "this")
    return refuse("an ONNX model needs a GPU of the catalogue", "--on", "name one with --on");
  const auto gpu = find_gpu(built_in_gpu_catalogue(), request.machine.gpu);
  if (!gpu) return fail(gpu.error());
  StackFlags flags = request.stack;
  flags.stack = "pytorch";
  const auto setup = read_stack_setup(flags, {});
  if (!setup) return fail(setup.error());
  if (setup->recomputation != Recomputation::kNone)
    return refuse("a file has no layers to recompute", "--recompute", "leave it out");
  const auto machine = read_machine_options(request.machine);
  if (!machine) return fail(machine.error());
  task.gpu = *gpu;
  task.setup = *setup;
  task.setup.device_memory = machine->device_memory;
  task.setup.desktop = machine->desktop;
  task.setup.os = machine->os;
  return {};
}

bool is_given(const WorkloadRequest& request, const std::string& option) {
  const auto& given = request.workload.given;
  return std::find(given.begin(), given.end(), option) != given.end();
}

Result<OnnxTask> make_task(const WorkloadRequest& request) {
  auto graph = read_onnx(request.model);
  if (!graph) return fail(graph.error());
  OnnxTask task{.graph = std::make_shared<const OnnxGraph>(std::move(*graph)), .use = {}, .recipe = {}, .setup = {}, .gpu = {}};
  if (request.training.batch < 1) return refuse("a batch has at least one sample", "--batch", "");
  task.use.batch = is_given(request, "--batch") ? request.training.batch : stated_batch(*task.graph);
  task.use.sequence = request.training.sequence.value_or(0);
  if (const auto taken = take_machine(request, task); !taken) return fail(taken.error());
  task.use.flash = !task.setup.attention || *task.setup.attention != AttentionKernel::kEager;
  const auto recipe = recipe_of(request, task.gpu, task.use.batch);
  if (!recipe) return fail(recipe.error());
  task.recipe = *recipe;
  return task;
}

}  // namespace

Result<Answered> fit_onnx(const WorkloadRequest& request) {
  if (request.workload.exists()) return refuse("an ONNX file is a workload of its own", "--workload", "leave it out");
  const auto goes = check_given(request.workload,
                                {"--precision", "--optimizer", "--batch", "--seq", "--attention", "--compile",
                                 "--optimizer-loop"},
                                "the step of an ONNX model", "leave it out");
  if (!goes) return fail(goes.error());
  std::optional<WaitingLine> waiting("running the model without numbers");
  const auto task = make_task(request);
  if (!task) return fail(task.error());
  auto make = onnx_maker(task->graph, task->use);
  if (!make) {
    if (make.error().where.empty()) make.error().where = request.model;
    return fail(make.error());
  }
  const auto prediction = predict_model(*make, task->recipe, task->setup, task->gpu);
  if (!prediction) return fail(prediction.error());
  const std::string file = std::filesystem::path(request.model).filename().string();
  const NetAnswer answer{.name = fmt::format("{} ({})", file, task->graph->producer),
                         .workload = "onnx",
                         .gpu = task->gpu.name,
                         .precision = task->recipe.precision,
                         .batch = task->recipe.micro_batch,
                         .parameters = model_parameters(*make),
                         .multiply_adds = model_multiply_adds(*make) / static_cast<double>(task->use.batch),
                         .prediction = *prediction,
                         .notes = onnx_notes(*task->graph, task->use)};
  waiting.reset();
  return Answered{.code = prediction->fits ? ExitCode::kDone : ExitCode::kMissed,
                  .text = request.json ? net_json(answer) : request.csv ? net_csv(answer) : net_text(answer),
                  .said = {}};
}

}  // namespace plimsoll
