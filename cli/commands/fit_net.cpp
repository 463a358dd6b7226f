#include <fmt/format.h>

#include <optional>

#include "cli/commands/fit_workload.h"
#include "cli/inputs/target_machine.h"
#include "cli/print/print_net.h"
#include "cli/print/waiting_line.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/answers/training_length.h"
#include "sim/stack/nets/net_zoo.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

/// What a user asks of a net, with what was left out.
struct NetTask {
  NetSpec net;
  Recipe recipe;
  StackSetup setup;
  GpuEntry gpu;
};

tl::unexpected<Error> refuse(std::string what, std::string where, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

/// Pictures are encoded into planes of an eighth of their size, which a net cuts or halves further.
Result<void> take_image(NetSpec& net, std::int64_t pixels, std::int64_t multiple) {
  if (pixels < multiple || pixels % multiple != 0) {
    return refuse(fmt::format("{} pixels are no multiple of {}", pixels, multiple), "--image",
                  fmt::format("choose one, for example {}", 8 * multiple));
  }
  if (auto* unet = std::get_if<UnetShape>(&net.shape)) unet->latent = pixels / 8;
  if (auto* dit = std::get_if<DitShape>(&net.shape)) dit->latent = pixels / 8;
  return {};
}

Result<NetSpec> shaped(const WorkloadRequest& request) {
  auto net = find_net(request.model);
  if (!net) return net;
  const WorkloadFlags& flags = request.workload;
  auto* trunk = std::get_if<EvoformerShape>(&net->shape);
  if (const std::string own = workload_of_net(net->name); flags.workload != own) {
    return refuse(fmt::format("{} is no net of --workload {}", net->name, flags.workload), "--workload",
                  fmt::format("leave it out, or say --workload {}", own));
  }
  const std::int64_t multiple = std::holds_alternative<UnetShape>(net->shape) ? 64 : 16;
  if (flags.image) {
    if (const auto taken = take_image(*net, *flags.image, multiple); !taken) return fail(taken.error());
  }
  if (trunk == nullptr) return net;
  trunk->residues = flags.residues.value_or(trunk->residues);
  trunk->sequences = flags.msa.value_or(trunk->sequences);
  trunk->chunk = flags.attention_chunk.value_or(0);
  constexpr std::int64_t kMost = 8192;
  trunk->ranks = flags.dap;
  if (trunk->sequences % trunk->ranks != 0 || trunk->residues % trunk->ranks != 0) {
    const std::string sizes = fmt::format("{} sequences and {} residues", trunk->sequences, trunk->residues);
    return refuse(fmt::format("{} do not divide by {}", sizes, trunk->ranks), "--dap", "choose a number that divides both");
  }
  for (const std::int64_t size : {trunk->residues, trunk->sequences, trunk->chunk + 1}) {
    if (size < 1 || size > kMost)
      return refuse("residues, sequences and chunks are between 1 and 8192", "--residues, --msa, --attention-chunk", "");
  }
  return net;
}

/// "10M", "imagenet": 0 where nothing is said.
Result<double> read_samples(const std::string& text) {
  if (text.empty()) return 0.0;
  if (const auto count = parse_count(text)) return *count;
  const DataSet* set = find_data_set(text);
  if (set != nullptr && set->unit == DataUnit::kSamples) return set->count;
  return refuse(fmt::format("'{}' is no number of samples", text), "--samples", "for example 10M, coco or laion-400m");
}

Result<Recipe> recipe_of(const WorkloadRequest& request, const GpuEntry& gpu) {
  Recipe recipe;
  recipe.micro_batch = request.training.batch;
  recipe.precision = default_precision(gpu).precision;
  if (request.training.batch < 1) return refuse("a batch has at least one sample", "--batch", "");
  if (!request.training.precision.empty()) {
    const auto precision = parse_precision(request.training.precision);
    if (!precision) return fail(precision.error());
    recipe.precision = *precision;
  }
  const auto optimizer = parse_optimizer(request.training.optimizer);
  if (!optimizer) return fail(optimizer.error());
  return with_optimizer(recipe, *optimizer);
}

Result<NetTask> make_task(const WorkloadRequest& request) {
  const auto net = shaped(request);
  if (!net) return fail(net.error());
  if (request.machine.gpu.empty() || request.machine.gpu == "this")
    return refuse("a net needs a GPU of the catalogue", "--on", "name one with --on");
  const auto gpu = find_gpu(built_in_gpu_catalogue(), request.machine.gpu);
  if (!gpu) return fail(gpu.error());
  const auto recipe = recipe_of(request, *gpu);
  if (!recipe) return fail(recipe.error());
  StackFlags flags = request.stack;
  flags.stack = "pytorch";
  const auto setup = read_stack_setup(flags, {});
  if (!setup) return fail(setup.error());
  NetTask task{*net, *recipe, *setup, *gpu};
  const auto machine = read_machine_options(request.machine);
  if (!machine) return fail(machine.error());
  task.setup.device_memory = machine->device_memory;
  task.setup.desktop = machine->desktop;
  task.setup.os = machine->os;
  const bool whole = task.setup.recomputation == Recomputation::kFull || task.setup.recomputation == Recomputation::kNone;
  const bool unet = std::holds_alternative<UnetShape>(net->shape);
  if (!whole || (unet && task.setup.recomputation != Recomputation::kNone)) {
    return refuse("this net has no such checkpoints", "--recompute", unet ? "leave it out" : "choose none or full");
  }
  return task;
}

}  // namespace

std::string workload_of_net(const std::string& model) {
  const auto net = find_net(model);
  if (!net) return {};
  return std::holds_alternative<EvoformerShape>(net->shape) ? "evoformer" : "diffusion";
}

Result<NetAnswer> answer_net(const WorkloadRequest& request) {
  std::vector<std::string> known{"--precision",      "--optimizer", "--recompute", "--compile",
                                 "--optimizer-loop", "--dp",        "--nodes",     "--network",     "--peers",
                                 "--samples"};
  const bool trunk = request.workload.workload == "evoformer";
  const std::vector<std::string> own = trunk ? std::vector<std::string>{"--residues", "--msa", "--attention-chunk", "--dap"}
                                             : std::vector<std::string>{"--batch", "--attention", "--image"};
  known.insert(known.end(), own.begin(), own.end());
  if (const auto goes = check_given(request.workload, known); !goes) return fail(goes.error());
  auto task = make_task(request);
  if (!task) return fail(task.error());
  const auto samples = read_samples(request.samples);
  if (!samples) return fail(samples.error());
  std::optional<WaitingLine> waiting("running the net without numbers");
  const bool flash = !task->setup.attention || *task->setup.attention != AttentionKernel::kEager;
  const bool recompute = task->setup.recomputation == Recomputation::kFull;
  const std::int64_t sharing = trunk ? request.workload.dap : 1;
  task->setup.data_ranks *= sharing;  // all of them sum the same gradients
  const auto prediction =
      predict_model(net_maker(task->net, task->recipe.micro_batch, flash, recompute), task->recipe, task->setup, task->gpu);
  if (!prediction) return fail(prediction.error());
  NetAnswer answer{.name = task->net.name,
                   .workload = trunk ? "evoformer" : "diffusion",
                   .gpu = task->gpu.name,
                   .precision = task->recipe.precision,
                   .batch = task->recipe.micro_batch,
                   .parameters = net_parameters(task->net),
                   .multiply_adds = net_multiply_adds(task->net),
                   .sharing = sharing,
                   .gpus = task->setup.data_ranks,
                   .samples = *samples,
                   .prediction = *prediction,
                   .notes = {}};
  if (sharing > 1) answer.notes.push_back("kernels wait for what GPUs send each other; FastFold hides a part of it");
  answer.notes.insert(answer.notes.end(), prediction->assumptions.begin(), prediction->assumptions.end());
  return answer;
}

Result<Answered> fit_net(const WorkloadRequest& request) {
  const auto answer = answer_net(request);
  if (!answer) return fail(answer.error());
  return Answered{.code = answer->prediction.fits ? ExitCode::kDone : ExitCode::kMissed,
                  .text = request.json ? net_json(*answer) : request.csv ? net_csv(*answer) : net_text(*answer),
                  .said = {}};
}

}  // namespace plimsoll
