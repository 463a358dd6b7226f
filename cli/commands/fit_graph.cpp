#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands/fit_workload.h"
#include "cli/inputs/target_machine.h"
#include "cli/print/print_fit.h"
#include "cli/print/waiting_line.h"
#include "formats/graphs/step_graph.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/stated_gpu.h"
#include "formats/runs/report_json.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/recorded/recorded_maker.h"
#include "sim/stack/setup_on.h"
#include "sim/stack/stack_answer.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestGraphFile{std::int64_t{1} << 30};

/// The recording with what is asked of its training.
struct GraphTask {
  std::shared_ptr<const StepGraph> graph;
  Recipe recipe;
  StackSetup setup;
  GpuEntry gpu;
};

tl::unexpected<Error> refuse(std::string what, std::string where, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

Result<Recipe> recipe_of(const WorkloadRequest& request, const StepGraph& graph) {
  Recipe recipe{.precision = graph.precision, .micro_batch = graph.samples, .clip = request.training.clip};
  recipe.accumulate = request.training.accumulate;
  if (recipe.accumulate < 1) return refuse("at least one micro-batch makes a step", "--accumulate", "");
  recipe.sequence = graph.tokens_per_sample.value_or(1);
  const auto optimizer = parse_optimizer(request.training.optimizer);
  if (!optimizer) return fail(optimizer.error());
  return with_optimizer(recipe, *optimizer);
}

Result<GraphTask> make_task(const WorkloadRequest& request) {
  const auto text = read_text_file(request.model, kLargestGraphFile);
  if (!text) return fail(text.error());
  auto graph = read_step_graph(*text, request.model);
  if (!graph) return fail(graph.error());
  if (!request.machine.machine_file.empty())
    return refuse("a recorded step is foretold on a GPU of the catalogue", "--machine", "name one with --on");
  if (request.machine.gpu.empty() || request.machine.gpu == "this")
    return refuse("a recorded step needs a GPU of the catalogue", "--on", "name one with --on");
  const auto gpu = find_gpu(built_in_gpu_catalogue(), request.machine.gpu);
  if (!gpu) return fail(gpu.error());
  const auto machine = read_machine_options(request.machine);
  if (!machine) return fail(machine.error());
  const auto recipe = recipe_of(request, *graph);
  if (!recipe) return fail(recipe.error());
  StackFlags flags = request.stack;
  if (flags.other() && flags.stack != "pytorch")
    return refuse(fmt::format("PyTorch's step was recorded, not that of {}", flags.stack), "--stack", "leave --stack out");
  flags.stack = "pytorch";
  const auto setup = read_stack_setup(flags, {});
  if (!setup) return fail(setup.error());
  return GraphTask{std::make_shared<const StepGraph>(std::move(*graph)), *recipe, setup_on(*setup, *machine), gpu_in(*gpu, *machine)};
}

std::vector<std::string> notes_of(const GraphTask& task, const StackPrediction& prediction) {
  std::vector<std::string> notes = extrapolation_notes(task.gpu);
  notes.push_back(fmt::format("recorded by {}: {} operations, {} kept for backward", task.graph->source, task.graph->ops.size(),
                              to_text(task.graph->saved)));
  notes.push_back(fmt::format("{} x {} samples a step, {}", task.recipe.accumulate, task.recipe.micro_batch,
                              to_text(task.recipe.optimizer)));
  notes.insert(notes.end(), prediction.assumptions.begin(), prediction.assumptions.end());
  return notes;
}

FitAnswer answer_of(const GraphTask& task, const StackPrediction& prediction) {
  const std::int64_t parameters = task.graph->parameter_count();
  FitAnswer answer = stack_answer(StackSubject{task.graph->name, parameters, parameters}, task.recipe, task.setup, task.gpu, prediction);
  answer.setup = fmt::format("a recorded step, {} optimizer", to_text(task.setup.loop));
  answer.calibration_source = "allocations as recorded, kernels by published efficiencies (data/calibration)";
  return answer;
}

}  // namespace

Result<Answered> fit_graph(const WorkloadRequest& request) {
  const auto known = check_given(request.workload,
                                 {"--stack", "--optimizer", "--optimizer-loop", "--accumulate", "--clip", "--expandable-segments",
                                  "--deterministic", "--update-in-backward"},
                                 "a recorded step", "leave it out, or record the step with it");
  if (!known) return fail(known.error());
  if (request.workload.exists()) return refuse("a recorded step is trained", "--workload", "leave --workload out");
  const auto task = make_task(request);
  if (!task) return fail(task.error());
  std::optional<WaitingLine> waiting("running the recorded step");
  const auto prediction = predict_model(recorded_maker(task->graph), task->recipe, task->setup, task->gpu);
  waiting.reset();
  if (!prediction) return fail(prediction.error());
  const FitAnswer answer = answer_of(*task, *prediction);
  return Answered{.code = answer.fits ? ExitCode::kDone : ExitCode::kMissed,
                  .text = request.json  ? to_json(answer)
                          : request.csv ? memory_csv(answer)
                                        : fit_text(answer, task->recipe, task->gpu.name) + notes_text(notes_of(*task, *prediction)),
                  .said = {}};
}

}  // namespace plimsoll
