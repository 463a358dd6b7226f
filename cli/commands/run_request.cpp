#include "cli/commands/run_request.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "cli/commands.h"
#include "cli/inputs/cuda_machine.h"
#include "cli/inputs/load_plan.h"
#include "cli/inputs/own_drive.h"
#include "cli/inputs/resume_source.h"
#include "cli/inputs/target_machine.h"
#include "cli/options/fixed_options.h"
#include "cli/options/size_option.h"
#include "cli/options/strategy_choice.h"
#include "cli/print/output_file.h"
#include "cli/print/print_fit.h"
#include "cli/program/job_here.h"
#include "executor/checkpoint/adapter_folder.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/new_folder.h"
#include "executor/checkpoint/save_weights.h"
#include "executor/kernels/choose_matmul_library.h"
#include "profiler/probe/this_computer.h"
#include "sim/planner/systems/offload_system.h"

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

Result<OnNan> parse_on_nan(const std::string& text) {
  if (text == "stop") return OnNan::kStop;
  if (text == "skip") return OnNan::kSkip;
  if (text == "ignore") return OnNan::kIgnore;
  return fail(bad(fmt::format("'{}' is no policy of --on-nan", text), "stop, skip or ignore"));
}

Result<void> check_numbers(const RunFlags& flags) {
  if (flags.steps <= 0) return fail(bad("--steps must be positive"));
  if (flags.warm_up_steps < 0 || flags.warm_up_steps == 1) {
    return fail(bad("--warm-up-steps must be 0, or at least 2: the first step of a process is not representative"));
  }
  if (flags.evaluate_every < 0) return fail(bad("--eval-every cannot be negative"));
  if (const auto safe = read_safety(flags.durability); !safe) return fail(safe.error());
  if (const auto known = parse_on_nan(flags.on_nan); !known) return fail(known.error());
  if (flags.on_nan == "skip" && flags.durability.durability != "step") {
    return fail(bad("--on-nan skip needs the state before the step", "add --durability step, or take --on-nan stop"));
  }
  if (flags.evaluate_every > 0 && flags.evaluation_data.empty()) {
    return fail(bad("--eval-every needs held-out data", "add --eval-data FILE"));
  }
  if (flags.other_data && flags.resume.empty()) {
    return fail(
        bad("--other-data is for a run that goes on with other data than it had", "add --resume, or leave it out"));
  }
  if (!flags.init_adapter.empty() && !flags.resume.empty()) {
    return fail(bad("--init-adapter and --resume both say where the adapters come from", "leave one out"));
  }
  if (flags.save_precision != "fp32" && flags.save_precision != "bf16")
    return fail(bad("--save-precision is fp32 or bf16"));
  return {};
}

Result<void> check_outputs(const RunFlags& flags) {
  const bool exists = std::filesystem::exists(std::filesystem::symlink_status(flags.output));
  if (exists && !flags.force) {
    return fail(bad(fmt::format("{} exists already", flags.output), "choose another -o, or add --force to replace it"));
  }
  if (const auto usable = check_replaceable(flags.output, FileKind::kRunFile); !usable) return usable;
  return flags.save.empty() || !saves_one_file(flags.save) ? Result<void>{} : check_place(flags.save);
}

/// Adapters that training goes on with say their own rank, alpha and targets; what the user repeats must be the same.
Result<TrainingFlags> with_adapter_folder(const RunFlags& flags, const ModelSpec& spec, std::vector<std::string>& notes) {
  TrainingFlags training = flags.training;
  if (flags.init_adapter.empty()) return training;
  const auto found = describe_adapter(flags.init_adapter, spec);
  if (!found) return fail(found.error());
  const std::string lora = fmt::format("{}:{}", found->adapter.rank, to_text(found->adapter.targets));
  if (training.adapter.lora.empty()) training.adapter.lora = lora;
  if (!training.adapter.alpha) training.adapter.alpha = found->adapter.alpha;
  std::vector<std::string> unused_notes;
  auto asked = make_adapter(training.adapter, spec, Precision::kFp32, unused_notes);
  if (!asked) return fail(asked.error());
  asked->base = found->adapter.base;
  if (!(*asked == found->adapter)) {
    return fail(bad(fmt::format("--lora {} --lora-alpha {} does not go with {}, which has --lora {} --lora-alpha {}",
                                training.adapter.lora, *training.adapter.alpha, flags.init_adapter, lora, found->adapter.alpha),
                    "leave --lora and --lora-alpha out"));
  }
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  if (!found->base.empty() && name(found->base) != name(flags.model)) {
    notes.push_back(fmt::format("the adapters in {} say that they belong to {}", flags.init_adapter, found->base));
  }
  return training;
}

Result<void> take_model(const RunFlags& flags, const TargetMachine& machine, const std::optional<ResumeSource>& resumed,
                        RunRequest& request, std::vector<std::string>& notes) {
  if (flags.model.empty()) {
    return fail(bad("MODEL is missing", resumed ? "a checkpoint without its run file does not say which model it is of"
                                                : "name a model, or --resume a run"));
  }
  const auto model = describe_model(flags.model, flags.training);
  if (!model) return fail(model.error());
  for (const ModelNote& note : model->notes) {
    if (note.changes_numbers && !flags.init.empty()) {
      return fail({.kind = ErrorKind::kInput,
                   .what = note.text,
                   .where = flags.model,
                   .remedy = "this model's weights cannot be trained faithfully yet"});
    }
    notes.push_back(note.text);
  }
  if (!resumed && flags.init.empty() && !model->weights.empty())
    notes.push_back(fmt::format("{0} has weights, which are not read: training begins with random ones; --init {0} begins with them", flags.model));
  const auto training = with_adapter_folder(flags, model->spec, notes);
  if (!training) return fail(training.error());
  auto recipe = make_recipe(*training, model->spec, machine.precision, machine.precision_reason, notes);
  if (!recipe) return fail(recipe.error());
  note_clipping(*recipe, notes);
  if (recipe->schedule != LrSchedule::kConstant) recipe->total_steps = flags.steps;
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  if (resumed && resumed->matmul && flags.matmul.empty()) {
    recipe->matmul = *resumed->matmul;
  } else if (flags.matmul.empty() && flags.backend == "cpu") {
    const MatmulChoice choice = choose_matmul_library(kMatmulTrialMilliseconds, compute_dtype(recipe->precision));
    recipe->matmul = choice.library;
    notes.push_back(fmt::format("matrix products by {} (measured: oneDNN {:.0f}, OpenBLAS {:.0f} GFLOP/s a core)",
                                to_text(choice.library), choice.onednn_gflops, choice.openblas_gflops));
  } else if (!flags.matmul.empty()) {
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
  if (std::find(flags.given.begin(), flags.given.end(), "--strategy") != flags.given.end()) {
    return fail(bad(fmt::format("{} is a finished plan, so --strategy does not go with it", flags.model),
                    "leave --strategy out, or name a model instead of a plan"));
  }
  const auto same = check_fixed_options(flags, plan->spec, plan->recipe, flags.model);
  if (!same) return same;
  request.spec = plan->spec;
  request.recipe = plan->recipe;
  request.plan = std::move(*plan);
  return {};
}

/// Model and recipe of the run that is resumed; what the user repeats must be the same.
Result<void> take_resumed(const RunFlags& flags, const ResumeSource& resumed, RunRequest& request) {
  if (!flags.model.empty()) {
    const auto model = describe_model(flags.model, flags.training);
    if (!model) return fail(model.error());
    if (canonical_text(model->spec) != canonical_text(*resumed.spec)) {
      return fail(bad(fmt::format("{} trained {}, not {}", resumed.run_file, resumed.spec->name, model->spec.name),
                      "leave MODEL out: it is taken from the run"));
    }
  }
  const auto same = check_fixed_options(flags, *resumed.spec, *resumed.recipe, resumed.run_file);
  if (!same) return same;
  request.spec = *resumed.spec;
  request.recipe = *resumed.recipe;
  return {};
}

HeadWeights head_of(const RunFlags& flags) { return flags.training.classes > 0 ? HeadWeights::kMayBeNew : HeadWeights::kStored; }

/// A checkpoint holds all weights that are trained; of a frozen model it knows the place.
Result<void> take_base(const RunFlags& flags, const std::string& recorded, RunRequest& request) {
  request.init = flags.init;
  request.head = head_of(flags);
  request.init_adapter = flags.init_adapter;
  if (request.resume.empty()) return {};
  if (!request.recipe.adapter.exists()) {
    return flags.init.empty() ? Result<void>{}
                              : fail(bad("--init and --resume both say where the weights come from", "leave one out"));
  }
  if (request.init.empty()) request.init = recorded;
  if (request.init.empty() || std::filesystem::exists(request.init)) return {};
  return fail(bad(fmt::format("the frozen model of the run is not at {} any more", request.init), "say where it is with --init"));
}

/// Model, recipe and perhaps the plan, from wherever the user said they come, and the weights to begin with.
Result<void> take_training(const RunFlags& flags, const TargetMachine& machine, RunRequest& request,
                           std::vector<std::string>& notes) {
  std::optional<ResumeSource> resumed;
  if (!flags.resume.empty()) {
    auto source = find_resume_source(flags.resume);
    if (!source) return fail(source.error());
    request.resume = source->checkpoint;
    notes.insert(notes.end(), source->notes.begin(), source->notes.end());
    note_more_memory(*source, machine.platform, notes);
    resumed = std::move(*source);
  }
  const auto taken = is_plan_file(flags.model)       ? take_plan(flags, request)
                     : resumed && resumed->spec ? take_resumed(flags, *resumed, request)
                                                : take_model(flags, machine, resumed, request, notes);
  return taken ? take_base(flags, resumed ? resumed->base : std::string(), request) : taken;
}

/// A file of records or a packed one is learned byte by byte, with braces, quotes and headers.
void note_raw_data(const std::string& data, const ModelSpec& spec, std::vector<std::string>& notes) {
  if (spec.reads_images() || spec.pads()) return;
  for (const char* ending : {".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".arrow", ".gz", ".zst", ".zip"}) {
    if (data.ends_with(ending))
      notes.push_back(fmt::format("{} is read as it stands, a byte a token; plimsoll tokenize makes tokens of texts and JSONL", data));
  }
}

TrainSchedule schedule_of(const RunFlags& flags, const Recipe& recipe) {
  const bool given = std::find(flags.given.begin(), flags.given.end(), "--steps") != flags.given.end();
  TrainSchedule schedule{.end_step = !given && recipe.total_steps > 0 ? recipe.total_steps : flags.steps,
                         .evaluate_every = flags.evaluate_every,
                         .on_nan = *parse_on_nan(flags.on_nan)};
  const Safety safety = *read_safety(flags.durability);
  schedule.durability = safety.durability;
  schedule.save_every = safety.every;
  if (!flags.evaluation_data.empty() && flags.evaluate_every == 0) schedule.evaluate_every = schedule.end_step;
  return schedule;
}

/// What cannot be read or written is told before anything was trained.
Result<void> check_weights_in_and_out(const RunFlags& flags, const RunRequest& request) {
  if (!request.init.empty()) {
    if (const auto sound = check_weights(request.init, request.spec, request.head); !sound) return sound;
  }
  if (!request.init_adapter.empty()) {
    const auto found = describe_adapter(request.init_adapter, request.spec);
    if (!found) return fail(found.error());
    AdapterSpec trained = request.recipe.adapter;
    trained.base = found->adapter.base;
    if (!(found->adapter == trained)) {
      return fail(bad(fmt::format("{} holds other adapters than {} trains", request.init_adapter, flags.model)));
    }
  }
  if (flags.save.empty()) return {};
  if (!request.recipe.adapter.exists()) return check_save(flags.save, request.spec);
  if (saves_one_file(flags.save))
    return fail(bad("adapters are saved as a folder", "--save FOLDER; plimsoll merge makes whole weights"));
  return check_new_folder(flags.save);
}

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder;
}

/// The folder whose tokenizer a saved model gets: that of the weights it began with.
std::string origin_of(const RunFlags& flags) {
  if (flags.init.empty()) return {};
  return std::filesystem::is_directory(flags.init) ? flags.init : folder_of(flags.init);
}

Result<SaveOptions> save_options_of(const RunFlags& flags) {
  const auto limit = read_size("--save-shards", flags.save_shards);
  if (!limit) return fail(limit.error());
  if (*limit <= Bytes(0)) return fail(bad("--save-shards must be positive"));
  return SaveOptions{.type = flags.save_precision == "bf16" ? StoredType::kBf16 : StoredType::kF32,
                     .shard_limit = *limit,
                     .origin = origin_of(flags)};
}


RunMeta meta_of(const RunFlags& flags) {
  return {.kind = "run",
          .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          .tool_version = version(),
          .command = flags.command,
          .machine = probe_this_computer().cpu_model};
}

/// The backend, if what else was asked for goes with it.
Result<Backend> backend_of(const RunFlags& flags) {
  const auto backend = parse_backend(flags.backend);
  if (!backend) return backend;
  if (*backend == Backend::kCuda && !flags.matmul.empty()) {
    return fail(bad("--matmul chooses the CPU's library, so it does not go with --backend cuda", "leave --matmul out"));
  }
  if (*backend == Backend::kCpu && flags.no_device_graphs) {
    return fail(bad("--no-cuda-graphs is for --backend cuda", "leave it out"));
  }
  if (*backend == Backend::kCpu && !flags.machine.gpu.empty() && flags.machine.gpu != "this") {
    return fail(bad("--backend cpu runs on this computer's CPU, so --on does not go with it",
                    "leave --on out, take --backend cuda, or ask fit"));
  }
  return backend;
}

Result<StrategyChoice> strategy_of(const RunFlags& flags) {
  auto strategy = read_strategy_choice(flags.strategy);
  if (!strategy) return strategy;
  if (const OffloadSystem* system = find_system(strategy->family); system != nullptr && system->delay > 0) {
    return fail(
        bad(fmt::format("strategy '{}' delays updates, and a checkpoint has no place for the gradients that wait",
                        system->name),
            "run it as zero-offload, or ask fit what it would gain"));
  }
  return strategy;
}

/// This computer, or the GPU that is here and what is free of it; SSD data lie in `ssd_folder` unless another was said.
Result<TargetMachine> machine_of(const RunFlags& flags, Backend backend, const std::string& ssd_folder) {
  MachineFlags asked = flags.machine;
  asked.ssd_folder = ssd_folder;
  if (backend == Backend::kCpu) return find_target_machine(asked, flags.calibration);
  const auto described = with_cuda_device(asked, flags.device);
  if (!described) return fail(described.error());
  std::vector<std::string> drive_notes;
  const auto with_drive = with_own_drive(*described, drive_notes);
  if (!with_drive) return fail(with_drive.error());
  auto machine = find_target_machine(*with_drive, flags.calibration);
  if (!machine) return machine;
  machine->notes.insert(machine->notes.end(), drive_notes.begin(), drive_notes.end());
  const auto limited = limit_to_free_memory(machine->platform, flags.device);
  return limited ? std::move(machine) : fail(limited.error());
}

/// A finished plan has its machine, other ranks would disturb, and what the user said of links stays.
bool wants_copies_measured(const RunFlags& flags, const RunRequest& request) {
  return !request.plan && !is_in_a_job() && flags.machine.pcie.empty() && !flags.machine.dram_gbs;
}

/// What needs no look at the machine or the model.
void take_as_typed(const RunFlags& flags, RunRequest& request) {
  request.warm_up_steps = flags.warm_up_steps;
  request.schedule = schedule_of(flags, request.recipe);
  request.data = flags.data;
  request.other_data = flags.other_data;
  request.trial = flags.trial;
  request.evaluation_data = flags.evaluation_data;
  request.save = flags.save;
  request.output = flags.output;
  request.device_graphs = !flags.no_device_graphs;
  request.replace = flags.force;
  request.meta = meta_of(flags);
  request.typed = flags.typed;
}

}  // namespace

Result<RunRequest> make_run_request(const RunFlags& flags) {
  if (const auto valid = check_numbers(flags); !valid) return fail(valid.error());
  if (const auto usable = check_outputs(flags); !usable) return fail(usable.error());
  const auto backend = backend_of(flags);
  if (!backend) return fail(backend.error());
  const auto strategy = strategy_of(flags);
  if (!strategy) return fail(strategy.error());
  RunRequest request;
  request.drive.folder = flags.machine.ssd_folder.empty() ? folder_of(flags.output) : flags.machine.ssd_folder;
  const auto machine = machine_of(flags, *backend, request.drive.folder);
  if (!machine) return fail(machine.error());
  std::vector<std::string> notes = machine->notes;
  const auto taken = take_training(flags, *machine, request, notes);
  if (!taken) return fail(taken.error());
  note_raw_data(flags.data, request.spec, notes);
  if (const auto sound = check_weights_in_and_out(flags, request); !sound) return fail(sound.error());
  const auto save_options = save_options_of(flags);
  if (!save_options) return fail(save_options.error());
  request.machine = machine->platform;
  if (*backend == Backend::kCuda && wants_copies_measured(flags, request)) measure_copies(request.machine, flags.device, notes);
  request.costs = machine->costs;
  request.backend = *backend;
  request.strategy = strategy->family;
  request.exact_strategy = strategy->exact;
  request.save_options = *save_options;
  take_as_typed(flags, request);
  if (!flags.quiet) fmt::print(stderr, "{}", notes_text(notes));
  return request;
}

}  // namespace plimsoll
