#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

#include "core/model/adapter.h"
#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/predict_stack.h"

using namespace plimsoll;

namespace {

constexpr Bytes kLargestFile{std::int64_t{1} << 20};
/// cuBLAS's workspaces of the forward and of the backward thread, which nobody counts on a CPU.
constexpr double kWorkspacesMib = 16.25;

Recipe recipe_of(CsvFields& row, const ModelSpec& spec) {
  Recipe recipe;
  recipe.micro_batch = static_cast<std::int64_t>(row.number("batch"));
  recipe.sequence = static_cast<std::int64_t>(row.number("sequence"));
  recipe.precision = *parse_precision(row.text("precision"));
  const std::int64_t rank = std::atoi(row.text("lora").c_str());
  if (rank > 0) recipe.adapter = {.rank = rank, .alpha = 32, .targets = adapter_targets(spec)};
  return recipe;
}

StackSetup setup_of(CsvFields& row) {
  StackSetup setup{.attention = AttentionKernel::kEager, .fused_head = true};
  if (row.text("recompute") == "full") setup.recomputation = Recomputation::kFull;
  setup.preference.method = *parse_preference_method(row.text("method"));
  if (!row.text("reference").empty()) setup.preference.reference = *parse_reference_pass(row.text("reference"));
  return setup;
}

}  // namespace

TEST_CASE("peaks of trainings on preferences are those of TRL's own trainers") {
  const std::string path = PLIMSOLL_REFERENCE_DATA "/preference_peaks.csv";
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  REQUIRE(table->rows.size() == 14);
  GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM");
  gpu.multiprocessors = 0;  // on a CPU sums over rows take no buffers
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const ModelSpec spec = *resolve_model(row.text("model"));
    const auto prediction = predict_stack(spec, recipe_of(row, spec), setup_of(row), gpu);
    REQUIRE(prediction);
    const double predicted = static_cast<double>(prediction->peak.requested.count) / static_cast<double>(kMiB.count) - kWorkspacesMib;
    INFO(row.text("model") << " " << row.text("precision") << " recompute " << row.text("recompute") << " lora " << row.text("lora") << " "
                           << row.text("method") << " " << row.text("reference") << " most at " << prediction->peak_at);
    CHECK(predicted == Approx(row.number("peak_mib")).epsilon(0.002));
  }
}
