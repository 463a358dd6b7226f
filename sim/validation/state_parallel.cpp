#include "sim/validation/state_parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/models/resolve_model.h"
#include "formats/published/embedded_published.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

const std::vector<std::string_view> kKeys{
    "family",          "machine",          "attention", "recompute", "sequence_parallel",
    "overlaps_tensor", "gradients_at_end", "precision", "unit",      "vocab",
    "network",         "node_gpus",        "gpu",       "schedule",  "use"};

tl::unexpected<Error> refuse(const PublishedRow& row, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = row.place, .remedy = {}});
}

/// Columns that a layout cannot do without.
Result<void> check_columns(const PublishedRow& row) {
  for (const char* column : {"layers", "hidden", "heads", "seq", "global_batch", "pp", "tp", "dp", "n_gpu"}) {
    if (!row.whole(column)) return refuse(row, fmt::format("{} not stated", column));
  }
  return {};
}

Result<ModelSpec> model_of(const PublishedRow& row, const RowReading& reading) {
  return resolve_model(fmt::format("gpt:layers={},hidden={},heads={},vocab={},positions={}", *row.whole("layers"),
                                   *row.whole("hidden"), *row.whole("heads"), reading.fact("vocab"),
                                   *row.whole("seq")));
}

ParallelLayout layout_of(const PublishedRow& row, const RowReading& reading) {
  ParallelLayout layout;
  layout.data_ranks = *row.whole("dp");
  layout.tensor_ranks = *row.whole("tp");
  layout.stages = *row.whole("pp");
  layout.chunks = row.whole("vpp").value_or(1);
  layout.global_batch = *row.whole("global_batch");
  layout.micro_batch = row.whole("micro_batch").value_or(layout.global_batch / layout.data_ranks);
  layout.schedule = reading.fact("schedule").empty() ? (layout.chunks > 1 ? "interleaved" : "1f1b")
                                                     : std::string(reading.fact("schedule"));
  if (reading.fact("recompute") == "full") layout.recomputation = Recomputation::kFull;
  if (reading.fact("recompute") == "selective") layout.recomputation = Recomputation::kSelective;
  layout.sequence_parallel = reading.fact("sequence_parallel") == "true";
  layout.overlaps_tensor = reading.fact("overlaps_tensor") != "false";
  layout.overlaps_gradients = reading.fact("gradients_at_end") != "true";
  return layout;
}

Result<Cluster> cluster_of(const PublishedRow& row, const RowReading& reading) {
  const std::string_view board = reading.fact("gpu").empty() ? std::string_view("A100 80GB SXM4") : reading.fact("gpu");
  const auto gpu = find_gpu(built_in_gpu_catalogue(), board);
  if (!gpu) return fail(gpu.error());
  const std::int64_t gpus = *row.whole("n_gpu");
  ClusterRequest request{.gpus = gpus, .nodes = {}, .network = std::string(reading.fact("network"))};
  if (const auto node = parse_number(reading.fact("node_gpus")))
    request.nodes = std::max<std::int64_t>(1, gpus / static_cast<std::int64_t>(*node));
  return make_cluster(*gpu, request);
}

/// FLOP of a step as Narayanan et al. 2021 count them, recomputation included: 96 B s l h² (1 + s/6h + V/16lh).
double recomputed_flops(const PublishedRow& row, const ModelSpec& spec) {
  const auto batch = static_cast<double>(*row.whole("global_batch")), s = static_cast<double>(*row.whole("seq"));
  const auto l = static_cast<double>(spec.layers), h = static_cast<double>(spec.hidden),
             v = static_cast<double>(spec.vocabulary);
  return 96 * batch * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
}

Result<double> seconds_of_row(const PublishedRow& row, const RowReading& reading, const ModelSpec& spec) {
  if (!row.value || *row.value <= 0) return refuse(row, "the value is no number");
  const std::string_view unit = reading.fact("unit");
  const auto gpus = static_cast<double>(*row.whole("n_gpu"));
  if (unit == "s") return *row.value;
  if (unit == "ms") return *row.value * 1e-3;
  if (unit == "samples/gpu") return static_cast<double>(*row.whole("global_batch")) / (*row.value * gpus);
  if (unit == "megatron-tflops") return recomputed_flops(row, spec) / (*row.value * 1e12 * gpus);
  return refuse(row, fmt::format("unit '{}' is not read", unit));
}

Result<Recipe> recipe_of(const PublishedRow& row, const RowReading& reading) {
  Recipe recipe;
  const auto precision = parse_precision(reading.fact("precision"));
  if (!precision) return fail(precision.error());
  recipe.precision = *precision;
  recipe.sequence = *row.whole("seq");
  return recipe;
}

}  // namespace

Result<std::vector<ReadingRule>> shipped_parallel_rules() {
  constexpr std::string_view kName = "data/published/parallel_rules.csv";
  return read_reading_rules(embedded_published(kName), std::string(kName), kKeys);
}

Result<ParallelStatement> state_parallel(const PublishedRow& row, const std::vector<ReadingRule>& rules) {
  const RowReading reading = apply_rules(rules, row);
  if (!reading.refusals.empty()) return refuse(row, reading.refusals.front());
  if (reading.fact("use") != "yes") return refuse(row, "no rule says how it ran");
  if (const auto all = check_columns(row); !all) return fail(all.error());
  const auto spec = model_of(row, reading);
  if (!spec) return fail(spec.error());
  const auto cluster = cluster_of(row, reading);
  if (!cluster) return fail(cluster.error());
  const auto recipe = recipe_of(row, reading);
  if (!recipe) return fail(recipe.error());
  const auto seconds = seconds_of_row(row, reading, *spec);
  if (!seconds) return fail(seconds.error());
  ParallelStatement made{.family = std::string(reading.fact("family")),
                         .machine = std::string(reading.fact("machine")),
                         .question = {},
                         .seconds = *seconds};
  made.question.spec = *spec;
  made.question.recipe = *recipe;
  made.question.cluster = *cluster;
  made.question.layout = layout_of(row, reading);
  made.question.choices.transformer_engine = false;
  if (reading.fact("attention") == "eager") made.question.choices.attention = AttentionKernel::kEager;
  return made;
}

}  // namespace plimsoll
