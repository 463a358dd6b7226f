#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

#include "core/model/adapter.h"
#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/modules/stack_model.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/trained_parameters.h"

using namespace plimsoll;

namespace {

constexpr Bytes kLargestFile{std::int64_t{1} << 20};
/// cuBLAS's workspaces of the forward and of the backward thread, which a CPU has not.
constexpr double kWorkspaces = 16.25 * 1024 * 1024;

/// One line of the reference.
struct Case {
  ModelSpec spec;
  Recipe recipe;
  StackSetup setup;
};

std::vector<AdapterTarget> targets_of(AdapterMethod method, const ModelSpec& spec) {
  if (method == AdapterMethod::kIa3) return *parse_adapter_targets("k,v,down", spec);
  if (method == AdapterMethod::kBias) return *parse_adapter_targets("v", spec);
  return adapter_targets(spec);
}

Case case_of(CsvFields& row) {
  Case made{.spec = *resolve_model(row.text("model")), .recipe = {}, .setup = {.attention = AttentionKernel::kEager}};
  made.spec.tied_head = row.text("head") == "tied";
  made.recipe.micro_batch = static_cast<std::int64_t>(row.number("batch"));
  made.recipe.sequence = static_cast<std::int64_t>(row.number("sequence"));
  made.recipe.precision = *parse_precision(row.text("precision"));
  AdapterSetup& adapter = made.setup.adapter;
  adapter.method = *parse_adapter_method(row.text("method"));
  REQUIRE(parse_copies(row.text("train_also"), adapter));
  const auto rank = static_cast<std::int64_t>(row.number("rank"));
  if (adapter.method == AdapterMethod::kPrompt) adapter.virtual_tokens = rank;
  made.recipe.adapter = {.rank = has_rank(adapter.method) ? rank : 1, .alpha = 16, .targets = targets_of(adapter.method, made.spec)};
  if (row.text("base_bits") == "4") made.recipe.adapter.base = BaseStorage::kNf4;
  if (row.text("recompute") == "full") made.setup.recomputation = Recomputation::kFull;
  if (!row.text("prepared").empty()) made.setup.kbit_preparation = row.text("prepared") == "yes";
  made.setup.adapter_dropout = std::atof(row.text("lora_dropout").c_str());
  return made;
}

/// A reentrant checkpoint's result and the gradient that came for it, which it holds while it goes back and the tape lets go.
double held_by_checkpoint(const Case& asked) {
  if (asked.setup.recomputation != Recomputation::kFull) return 0;
  const std::int64_t tokens = asked.recipe.sequence + asked.setup.adapter.virtual_tokens;
  return 2.0 * 2 * static_cast<double>(asked.recipe.micro_batch * tokens * asked.spec.hidden);
}

}  // namespace

TEST_CASE("what PEFT trains beside a frozen model takes the bytes that its tensors take on the CPU") {
  const std::string path = PLIMSOLL_REFERENCE_DATA "/adapter_peaks.csv";
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM");
  gpu.multiprocessors = 0;  // no buffers of sums over rows, which a GPU's kernels take
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const Case asked = case_of(row);
    INFO(row.text("model") << " " << row.text("method") << " " << row.text("train_also") << " " << row.text("head") << " " << row.text("batch")
                           << " " << row.text("precision") << " " << row.text("recompute") << " base " << row.text("base_bits") << " prepared "
                           << row.text("prepared") << " dropout " << row.text("lora_dropout"));
    CHECK(trained_parameters(asked.spec, asked.recipe, asked.setup, gpu) == static_cast<std::int64_t>(row.number("trained")));
    const auto prediction = predict_stack(asked.spec, asked.recipe, asked.setup, gpu);
    REQUIRE(prediction);
    const double predicted = static_cast<double>(prediction->peak.requested.count) - kWorkspaces;
    CHECK(predicted < 1.003 * row.number("peak_bytes"));
    CHECK(predicted > 0.997 * row.number("peak_bytes") - held_by_checkpoint(asked));
  }
}
