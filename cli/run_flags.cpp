#include "cli/run_flags.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "cli/commands.h"
#include "cli/load_plan.h"
#include "cli/target_machine.h"
#include "executor/kernels/choose_matmul_library.h"
#include "formats/resolve_model.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMatmulTrialMilliseconds = 200;

Error bad(std::string what, std::string remedy = {}) {
  return {.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)};
}

bool is_plan_file(const std::string& name) {
  // A config.json is a model; any other JSON file is taken for a plan.
  const std::filesystem::path path(name);
  return path.extension() == ".json" && path.filename() != "config.json";
}

Result<void> check_output(const RunFlags& flags) {
  if (flags.steps <= 0) return fail(bad("--steps must be positive"));
  if (flags.warm_up_steps < 0 || flags.warm_up_steps == 1) {
    return fail(bad("--warm-up-steps must be 0, or at least 2: the first step of a process is not representative"));
  }
  if (flags.force) std::filesystem::remove(flags.output);
  if (std::filesystem::exists(flags.output)) {
    return fail(bad(fmt::format("{} exists already", flags.output), "choose another -o, or add --force to replace it"));
  }
  return {};
}

Result<void> take_model(const RunFlags& flags, const TargetMachine& machine, RunRequest& request, std::vector<std::string>& notes) {
  const auto model = describe_model(flags.model);
  if (!model) return fail(model.error());
  for (const ModelNote& note : model->notes) {
    if (note.changes_numbers && !flags.init.empty()) return fail(bad(note.text, "this model's weights cannot be trained faithfully yet"));
    notes.push_back(note.text);
  }
  auto recipe = make_recipe(flags.training, model->spec, machine.precision, machine.precision_reason, notes);
  if (!recipe) return fail(recipe.error());
  if (recipe->schedule != LrSchedule::kConstant) recipe->total_steps = flags.steps;
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  if (flags.matmul.empty()) {
    const MatmulChoice choice = choose_matmul_library(kMatmulTrialMilliseconds);
    recipe->matmul = choice.library;
    notes.push_back(fmt::format("matrix products by {} (measured: oneDNN {:.0f}, OpenBLAS {:.0f} GFLOP/s a core)",
                                to_text(choice.library), choice.onednn_gflops, choice.openblas_gflops));
  } else {
    const auto library = parse_matmul(flags.matmul);
    if (!library) return fail(library.error());
    recipe->matmul = *library;
  }
  request.spec = model->spec;
  request.recipe = *recipe;
  return {};
}

Result<void> take_plan(const RunFlags& flags, RunRequest& request) {
  auto plan = load_plan(flags.model);
  if (!plan) return fail(plan.error());
  request.spec = plan->spec;
  request.recipe = plan->recipe;
  request.plan = std::move(*plan);
  return {};
}

}  // namespace

void add_run_flags(CLI::App& command, RunFlags& flags) {
  command.add_option("MODEL", flags.model, "a model (see fit), or a plan file made by plimsoll plan")->required();
  command.add_option("--data", flags.data, "text file (each byte is a token), or .bin file of uint16 tokens")->required();
  command.add_option("--steps", flags.steps, "optimizer steps in all")->capture_default_str();
  command.add_option("-o,--output", flags.output, "the run file")->capture_default_str();
  command.add_flag("--force", flags.force, "replace an existing run file");
  add_machine_flags(command, flags.machine);
  add_shape_flags(command, flags.training);
  add_number_flags(command, flags.training);
  command.add_option("--matmul", flags.matmul, "onednn or openblas (default: the faster, by measuring)")->group("Numbers");
  command.add_option("--strategy", flags.strategy, "auto, resident, recompute or offload-optimizer")->capture_default_str();
  command.add_option("--warm-up-steps", flags.warm_up_steps, "profiled steps of a cautious plan; 0: trust --calibration or the catalogue")
      ->capture_default_str();
  command.add_option("--calibration", flags.calibration, "run file whose measurements replace the catalogue's");
  command.add_option("--eval-data", flags.evaluation_data, "held-out data");
  command.add_option("--eval-every", flags.evaluate_every, "steps between evaluations");
  command.add_option("--save-every", flags.save_every, "steps between checkpoints (one is always written at the end)");
  command.add_option("--init", flags.init, "weights to start from: a safetensors file in Hugging Face's names");
  command.add_option("--save", flags.save, "where the trained weights go: FILE.safetensors");
  command.add_option("--save-precision", flags.save_precision, "fp32 or bf16")->capture_default_str();
  command.add_option("--resume", flags.resume, "checkpoint to go on from, bit for bit");
  command.add_flag("-q,--quiet", flags.quiet, "no progress");
  command.add_flag("--json", flags.json, "machine-readable answer");
}

Result<RunRequest> make_run_request(const RunFlags& flags) {
  if (const auto usable = check_output(flags); !usable) return fail(usable.error());
  if (!flags.machine.gpu.empty() && flags.machine.gpu != "this") {
    return fail(bad("this build runs on the CPU only, so --on does not go with run", "leave --on out, or ask fit"));
  }
  auto machine = find_target_machine(flags.machine, flags.calibration);
  if (!machine) return fail(machine.error());
  std::vector<std::string> notes = machine->notes;
  RunRequest request;
  const auto taken = is_plan_file(flags.model) ? take_plan(flags, request) : take_model(flags, *machine, request, notes);
  if (!taken) return fail(taken.error());
  if (flags.save_precision != "fp32" && flags.save_precision != "bf16") return fail(bad("--save-precision is fp32 or bf16"));
  request.machine = machine->platform;
  request.costs = machine->costs;
  request.strategy = flags.strategy;
  request.warm_up_steps = flags.warm_up_steps;
  request.schedule = {.end_step = flags.steps, .evaluate_every = flags.evaluate_every, .save_every = flags.save_every};
  request.data = flags.data;
  request.evaluation_data = flags.evaluation_data;
  request.init = flags.init;
  request.save = flags.save;
  request.save_type = flags.save_precision == "bf16" ? StoredType::kBf16 : StoredType::kF32;
  request.resume = flags.resume;
  request.output = flags.output;
  request.meta = {.kind = "run",
                  .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
                  .tool_version = version(),
                  .command = "plimsoll run " + flags.model,
                  .machine = probe_this_computer().cpu_model};
  if (!flags.quiet) {
    for (const std::string& note : notes) fmt::print(stderr, "plimsoll: assumed {}\n", note);
  }
  return request;
}

}  // namespace plimsoll
