#include "cli/options/workload_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/number_checks.h"
#include "sim/inference/serving_program.h"

namespace plimsoll {
namespace {

constexpr const char* kOwn[] = {"--prompt",      "--new-tokens", "--gpu-batch", "--percent",         "--cpu-attention",
                                "--weight-bits", "--cache-bits", "--pageable",  "--eager-codes",     "--no-overlap",
                                "--program",
                                "--residues",    "--msa",        "--attention-chunk", "--dap",     "--critic",
                                "--reward",      "--ppo-epochs"};
constexpr const char* kAlways[] = {
    "MODEL",           "--workload", "--json",       "--csv",  "--on",        "--machine",
    "--ram",           "--ssd",      "--ssd-folder", "--pcie", "--cpu-cores", "--dram-bandwidth",
    "--device-memory", "--desktop",  "--os"};

template <typename Names>
bool is_among(const Names& names, const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

tl::unexpected<Error> would_be_ignored(const std::string& option, const std::string& by, std::string remedy) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} would be ignored by {}", option, by),
               .where = {},
               .remedy = std::move(remedy)});
}

/// What says the same of inference as an option says of training; empty where nothing does.
std::string_view of_inference(std::string_view option) {
  if (option == "--base-bits") return "store weights in fewer bits with --weight-bits";
  if (option == "--seq") return "give the tokens of a prompt with --prompt, those written behind it with --new-tokens";
  return {};
}

void add_inference_flags(CLI::App& command, WorkloadFlags& flags, const std::string& group) {
  command.add_option("--prompt", flags.prompt, "inference: tokens of each prompt (512); dpo, kto and grpo of TRL: tokens of a sequence before the answer")
      ->transform(tokens_with_unit())
      ->group(group);
  command.add_option("--new-tokens", flags.new_tokens, "inference: tokens written behind it (32)")->transform(tokens_with_unit())->group(group);
  command.add_option("--gpu-batch", flags.gpu_batch, "inference: sequences that the device works on at once; left out: searched")
      ->group(group);
  command
      .add_option("--percent", flags.percent,
                  "inference: weights on GPU, on CPU, cache on GPU, on CPU, activations on GPU, on CPU, e.g. 20,80,0,100,0,100; "
                  "the rest is on the SSD; left out: searched")
      ->group(group);
  command.add_option("--cpu-attention", flags.cpu_attention, "inference: the CPU attends to the cache that is not on the device")
      ->check(CLI::IsMember({"yes", "no"}))
      ->group(group);
  command.add_option("--weight-bits", flags.weight_bits, "inference: 16, 8 or 4 bits a weight (groups of 64)")->group(group);
  command.add_option("--cache-bits", flags.cache_bits, "inference: 16, 8 or 4 bits of keys and values")->group(group);
  command.add_option("--pageable", flags.pageable, "inference: what of host memory is not pinned")
      ->check(CLI::IsMember({"weights", "cache", "weights,cache"}))
      ->group(group);
  command.add_flag("--eager-codes", flags.eager_codes, "inference: codes are read by chains of elementwise kernels")
      ->group(group);
  command
      .add_option("--program", flags.program,
                  "inference: whose schedule: flexgen, accelerate, zero-inference (DeepSpeed from 0.9 on), zero-inference-0.8")
      ->check(CLI::IsMember(serving_program_names()))
      ->group(group);
  command.add_flag("--no-overlap", flags.no_overlap, "inference: transfers wait for computation")->group(group);
}

}  // namespace

void add_workload_flags(CLI::App& command, WorkloadFlags& flags) {
  const std::string group = "Workload";
  command
      .add_option("--workload", flags.workload,
                  "what to do with the model, beside training it on texts: inference, dpo, kto, grpo, ppo, diffusion, evoformer (docs/workloads.md); "
                  "dpo, kto and grpo as TRL trains them with --stack pytorch or deepspeed")
      ->group(group);
  add_inference_flags(command, flags, group);
  command.add_option("--image", flags.image, "pixels of an image's height and width (diffusion: 512, of dit 256; nets and vision "
                                                "transformers: as the model says)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->group(group);
  command.add_option("--residues", flags.residues, "evoformer: residues of a crop (256)")->group(group);
  command.add_option("--msa", flags.msa, "evoformer: sequences of the alignment (128)")->group(group);
  command.add_option("--attention-chunk", flags.attention_chunk, "evoformer: rows that attention takes at once (all)")
      ->group(group);
  command.add_option("--dap", flags.dap, "evoformer: GPUs that share one alignment (FastFold's dynamic axial parallelism)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group(group);
  command.add_option("--critic", flags.critic, "ppo: the critic's model (as the actor)")->group(group);
  command.add_option("--reward", flags.reward, "ppo: the reward model (as the actor)")->group(group);
  command.add_option("--ppo-epochs", flags.ppo_epochs, "ppo: times that is learnt from what was generated")->group(group);
}

std::vector<std::string> given_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) names.push_back(option->get_name());
  }
  return names;
}

Result<void> check_given(const WorkloadFlags& flags, const std::vector<std::string>& known) {
  return check_given(flags, known, "--workload " + flags.workload,
                     "leave it out; docs/workloads.md says what each workload takes");
}

Result<void> check_given(const WorkloadFlags& flags, const std::vector<std::string>& known, const std::string& by,
                         const std::string& remedy) {
  for (const std::string& name : flags.given) {
    if (is_among(known, name) || is_among(kAlways, name)) continue;
    const std::string_view instead = flags.workload == "inference" ? of_inference(name) : std::string_view{};
    return would_be_ignored(name, by, instead.empty() ? remedy : std::string(instead));
  }
  return {};
}

Result<void> check_no_workload(const WorkloadFlags& flags) {
  for (const std::string& name : flags.given) {
    if (is_among(kOwn, name)) return would_be_ignored(name, "training", "add the --workload that takes it");
  }
  return {};
}

}  // namespace plimsoll
