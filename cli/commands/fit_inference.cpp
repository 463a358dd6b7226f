#include <fmt/format.h>

#include <optional>

#include "cli/commands/fit_workload.h"
#include "cli/inputs/target_machine.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_inference.h"
#include "cli/print/waiting_line.h"
#include "formats/models/resolve_model.h"
#include "sim/inference/inference_answer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPrompt = 512;
constexpr std::int64_t kNewTokens = 32;

/// Weights and cache as the device reads them fastest.
Result<Precision> chosen_precision(const std::string& text, const Platform& platform) {
  if (!text.empty()) return parse_precision(text);
  const auto compute = platform.queue("compute");
  const bool halves = compute && platform.at(platform.at(*compute).processor).fp16_flops > 0;
  return halves ? Precision::kFp16Mixed : Precision::kFp32;
}

Result<InferenceTask> make_task(const WorkloadRequest& request, const Platform& platform) {
  const auto model = resolve_model(request.model);
  if (!model) return fail(model.error());
  const auto precision = chosen_precision(request.training.precision, platform);
  if (!precision) return fail(precision.error());
  return InferenceTask{.spec = *model,
                       .prompt = request.workload.prompt.value_or(kPrompt),
                       .new_tokens = request.workload.new_tokens.value_or(kNewTokens),
                       .sequences = request.training.batch,
                       .precision = *precision};
}

Result<OffloadPolicy> fixed_part(const WorkloadFlags& flags) {
  OffloadPolicy policy;
  const auto weights = group_code_of_bits(flags.weight_bits, "--weight-bits");
  if (!weights) return fail(weights.error());
  const auto cache = group_code_of_bits(flags.cache_bits, "--cache-bits");
  if (!cache) return fail(cache.error());
  if (flags.eager_codes && flags.weight_bits == 0 && flags.cache_bits == 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--eager-codes says how codes are read, and there are none",
                 .where = {},
                 .remedy = "add --weight-bits or --cache-bits"});
  }
  policy.weight_code = *weights;
  policy.cache_code = *cache;
  policy.overlap = !flags.no_overlap;
  policy.pinned_weights = flags.pageable.find("weights") == std::string::npos;
  policy.pinned_cache = flags.pageable.find("cache") == std::string::npos;
  policy.eager_codes = flags.eager_codes;
  policy.cpu_attention = flags.cpu_attention == "yes";
  return flags.program.empty() ? policy : run_by(*parse_serving_program(flags.program), policy);
}

Result<void> check_batches(std::int64_t sequences, std::int64_t gpu_batch) {
  if (sequences >= 1 && gpu_batch >= 1 && sequences % gpu_batch == 0) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} sequences are not whole batches of {}", sequences, gpu_batch),
               .where = "--gpu-batch",
               .remedy = "choose one that divides --batch"});
}

Result<PolicyWishes> make_wishes(const WorkloadFlags& flags, std::int64_t sequences) {
  const auto fixed = fixed_part(flags);
  if (!fixed) return fail(fixed.error());
  PolicyWishes wishes{.exact = {}, .gpu_batch = flags.gpu_batch, .cpu_attention = {}, .fixed = *fixed};
  if (const auto whole = check_batches(sequences, flags.gpu_batch.value_or(sequences)); !whole) return fail(whole.error());
  if (!flags.cpu_attention.empty()) wishes.cpu_attention = flags.cpu_attention == "yes";
  if (flags.percent.empty()) return wishes;
  auto exact = with_percentages(*fixed, flags.percent, "--percent");
  if (!exact) return fail(exact.error());
  exact->gpu_batch = flags.gpu_batch.value_or(sequences);
  exact->batches = sequences / exact->gpu_batch;
  wishes.exact = *exact;
  return wishes;
}

}  // namespace

Result<Answered> fit_inference(const WorkloadRequest& request) {
  const auto known =
      check_given(request.workload, {"--prompt", "--new-tokens", "--gpu-batch", "--percent", "--cpu-attention",
                                     "--weight-bits", "--cache-bits", "--pageable", "--eager-codes", "--no-overlap", "--program",
                                     "--batch", "--precision", "--calibration"});
  if (!known) return fail(known.error());
  const auto machine = find_target_machine(request.machine, request.calibration);
  if (!machine) return fail(machine.error());
  const auto task = make_task(request, machine->platform);
  if (!task) return fail(task.error());
  const auto wishes = make_wishes(request.workload, task->sequences);
  if (!wishes) return fail(wishes.error());
  std::optional<WaitingLine> waiting("weighing policies");
  const auto answer = answer_inference(*task, *wishes, machine->platform, *machine->costs);
  waiting.reset();
  if (!answer) return fail(answer.error());
  return Answered{.code = answer->fits ? ExitCode::kDone : ExitCode::kMissed,
                  .text = request.json  ? inference_json(*answer)
                          : request.csv ? inference_csv(*answer)
                                        : inference_text(*answer, machine->platform.name) + notes_text(machine->notes),
                  .said = {}};
}

}  // namespace plimsoll
