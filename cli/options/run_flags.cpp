#include "cli/options/run_flags.h"

#include "cli/options/strategy_choice.h"

namespace plimsoll {
namespace {

/// A run that goes on has its own output, and begins where the other ended.
void note_typed(const CLI::Option& option, RunFlags& flags) {
  for (const char* other :
       {"--output", "--force", "--resume", "--other-data", "--init", "--init-adapter", "--progress-fd"}) {
    if (option.get_name() == other) return;
  }
  if (option.get_positional()) return;
  const std::string value = option.get_expected_min() == 0 || option.results().empty() ? std::string() : option.results().front();
  flags.typed.emplace_back(option.get_name(), value);
}

/// Where weights come from and go.
void add_weight_flags(CLI::App& command, RunFlags& flags) {
  command.add_option("--init", flags.init,
                     "weights to start from, in Hugging Face's names: a folder, a safetensors file or an index of shards");
  command.add_option("--init-adapter", flags.init_adapter, "folder of adapters to go on with, as PEFT or --save wrote it");
  command.add_option(
      "--save", flags.save,
      "where the trained weights go: a new FOLDER for from_pretrained, or FILE.safetensors; with --lora the adapters, "
      "in a new FOLDER for PEFT");
  command.add_option("--save-precision", flags.save_precision, "fp32 or bf16")->capture_default_str();
  command.add_option("--save-shards", flags.save_shards, "largest file of a saved folder")->capture_default_str();
}

/// What a run learns of its machine, and of its model.
void add_measuring_flags(CLI::App& command, RunFlags& flags) {
  command
      .add_option("--warm-up-steps", flags.warm_up_steps,
                  "the first steps (half of them at most), profiled, of a cautious plan; 0: trust --calibration or the catalogue")
      ->capture_default_str();
  command.add_option("--calibration", flags.calibration,
                     "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
  command.add_option("--eval-data", flags.evaluation_data, "held-out data");
  command.add_option("--eval-every", flags.evaluate_every, "steps between evaluations (default: one at the end)");
}

/// A run that goes on with another.
void add_resume_flags(CLI::App& command, RunFlags& flags) {
  command.add_option("--resume", flags.resume,
                     "run file (with its checkpoint) or checkpoint to go on from, bit for bit");
  command.add_flag("--other-data", flags.other_data,
                   "with --resume: go on with --data although it is not the data that the run had until then");
}

/// What a run tells while it runs, and in the end.
void add_report_flags(CLI::App& command, RunFlags& flags) {
  command.add_flag("-q,--quiet", flags.quiet, "no progress");
  command.add_option("--progress-fd", flags.progress_fd,
                     "open file descriptor that gets one JSON object a line (docs/progress-lines.md)");
  command.add_flag("--json", flags.json, "machine-readable answer");
}

}  // namespace

void add_run_flags(CLI::App& command, RunFlags& flags) {
  command.add_option("MODEL", flags.model,
                     "a model (see fit), or a plan file made by plimsoll plan; --resume of a run file needs none");
  command
      .add_option(
          "--data", flags.data,
          "token file (plimsoll tokenize), text file (each byte is a token), .bin file of uint16 tokens, .jsonl of records, or "
          "images")
      ->required();
  command.add_option("--steps", flags.steps, "optimizer steps in all")->capture_default_str();
  command.add_option("-o,--output", flags.output, "the run file")->capture_default_str();
  command.add_flag("--force", flags.force, "replace an existing run file");
  command.add_option("--backend", flags.backend, "what runs the plan: cpu, or cuda (the GPU that is here)")
      ->capture_default_str();
  command.add_flag("--no-cuda-graphs", flags.no_device_graphs, "give a GPU its kernels one by one, as traced steps do");
  add_machine_flags(command, flags.machine);
  add_shape_flags(command, flags.training);
  add_number_flags(command, flags.training);
  add_rank_flags(command, flags.ranks);
  command.add_option("--matmul", flags.matmul, "onednn or openblas (default: the faster, by measuring)")
      ->group("Numbers");
  command.add_option("--strategy", flags.strategy, strategy_help())
      ->capture_default_str();
  add_measuring_flags(command, flags);
  add_durability_flags(command, flags.durability);
  command.add_flag("--trial", flags.trial, "keep no state, also not in the end: only to see how fast it runs")
      ->excludes("--durability", "--save-every");
  command
      .add_option(
          "--on-nan", flags.on_nan,
          "a step whose loss or gradient is not finite: stop the run, skip the step (with --durability step), or ignore it")
      ->capture_default_str();
  add_weight_flags(command, flags);
  add_resume_flags(command, flags);
  add_report_flags(command, flags);
}

void note_given(const CLI::App& command, RunFlags& flags) {
  flags.command = "plimsoll run";
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* candidate) { return candidate->count() > 0; })) {
    flags.given.push_back(option->get_name());
    if (!option->get_positional()) flags.command += " " + option->get_name();
    note_typed(*option, flags);
    if (option->get_expected_min() == 0) continue;  // a flag
    const char between = option->get_delimiter() != 0 ? option->get_delimiter() : ' ';
    for (std::size_t i = 0; i < option->results().size(); ++i)
      flags.command += (i == 0 ? ' ' : between) + option->results()[i];
  }
}

}  // namespace plimsoll
