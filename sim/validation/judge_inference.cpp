#include "sim/validation/judge_inference.h"

#include <fmt/format.h>

#include "formats/machines/catalogue_platform.h"
#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "sim/cost/catalogue_cost_model.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;

tl::unexpected<Error> unreadable(const PublishedRow& row, std::string_view column) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("column '{}': cannot read '{}'", column, row.field(column)),
               .where = row.place,
               .remedy = {}});
}

/// A column that may be empty; 0 stands for what cannot be read.
std::optional<double> number(const PublishedRow& row, std::string_view column) {
  return row.field(column).empty() ? std::nullopt : std::optional(parse_number(row.field(column)).value_or(0));
}

Result<Platform> state_machine(const PublishedRow& row) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), row.field("gpu"));
  if (!gpu) return fail(gpu.error());
  const auto ram = number(row, "ram_gb");
  if (!ram) return unreadable(row, "ram_gb");
  MachineOptions options{.ram = Bytes(static_cast<std::int64_t>(*ram * kGiga))};
  options.ssd_read_gbs = number(row, "ssd_read_gbs");
  options.ssd_write_gbs = number(row, "ssd_write_gbs");
  options.dram_gbs = number(row, "dram_gbs");
  if (const auto cores = row.whole("cores")) options.cpu_cores = static_cast<int>(*cores);
  constexpr std::int64_t kEnough = 4'000'000'000'000;  // rows say what their drives hold, and it was enough
  if (options.ssd_read_gbs) options.ssd = Bytes(kEnough);
  auto platform = gpu_platform(*gpu, options);
  if (!platform) return fail(platform.error());
  return std::move(platform->platform);
}

Result<InferenceTask> state_task(const PublishedRow& row) {
  const auto spec = resolve_model(row.field("model"));
  if (!spec) return fail(spec.error());
  InferenceTask task{.spec = *spec};
  const std::pair<const char*, std::int64_t*> sizes[] = {
      {"prompt", &task.prompt}, {"new_tokens", &task.new_tokens}, {"batch", &task.sequences}};
  for (const auto& [column, size] : sizes) {
    const auto whole = row.whole(column);
    if (!whole) return unreadable(row, column);
    *size = *whole;
  }
  return task;
}

Result<PolicyWishes> state_wishes(const PublishedRow& row, std::int64_t sequences) {
  PolicyWishes wishes;
  OffloadPolicy& fixed = wishes.fixed;
  const auto weights = group_code_of_bits(row.whole("weight_bits").value_or(16), "weight_bits");
  const auto cache = group_code_of_bits(row.whole("cache_bits").value_or(16), "cache_bits");
  if (!weights || !cache) return unreadable(row, weights ? "cache_bits" : "weight_bits");
  fixed.weight_code = *weights;
  fixed.cache_code = *cache;
  fixed.pinned_weights = row.field("pageable").find("weights") == std::string_view::npos;
  fixed.pinned_cache = row.field("pageable").find("cache") == std::string_view::npos;
  fixed.eager_codes = row.field("eager_codes") == "yes";
  fixed.overlap = row.field("overlap") != "no";
  if (!row.field("program").empty()) {
    const auto program = parse_serving_program(row.field("program"));
    if (!program) return unreadable(row, "program");
    fixed = run_by(*program, fixed);
  }
  fixed.cpu_attention = row.field("cpu_attention") == "yes";
  if (row.field("percent").empty()) return wishes;
  auto exact = with_percentages(fixed, row.field("percent"), "percent");
  if (!exact) return fail(exact.error());
  exact->gpu_batch = row.whole("gpu_batch").value_or(sequences);
  if (sequences % exact->gpu_batch != 0) return unreadable(row, "gpu_batch");
  exact->batches = sequences / exact->gpu_batch;
  wishes.exact = *exact;
  return wishes;
}

Result<InferenceAnswer> predict_row(const PublishedRow& row) {
  if (row.field("metric") != "generation_throughput" || row.field("unit") != "tokens/s") return unreadable(row, "metric");
  if (!row.value || *row.value <= 0) return unreadable(row, "value");
  const auto platform = state_machine(row);
  if (!platform) return fail(platform.error());
  const auto task = state_task(row);
  if (!task) return fail(task.error());
  const auto wishes = state_wishes(row, task->sequences);
  if (!wishes) return fail(wishes.error());
  return answer_inference(*task, *wishes, *platform, CatalogueCostModel(FusedAttention::kFlash));
}

}  // namespace

std::optional<double> InferenceOutcome::error() const {
  if (!answer) return std::nullopt;
  return answer->tokens_per_second() / *row->value - 1;
}

std::vector<InferenceOutcome> judge_inference(const std::vector<PublishedRow>& rows) {
  std::vector<InferenceOutcome> outcomes;
  for (const PublishedRow& row : rows) {
    InferenceOutcome& outcome = outcomes.emplace_back();
    outcome.row = &row;
    auto answer = predict_row(row);
    if (answer) outcome.answer = std::move(*answer);
    if (!answer) outcome.refusal = answer.error().what;
  }
  return outcomes;
}

}  // namespace plimsoll
