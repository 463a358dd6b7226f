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
/// cuBLAS's workspaces of the forward and of the backward thread, which a tracker of tensors does not see.
constexpr double kWorkspacesMib = 16.25;

/// What the library's functions ran on: one multiprocessor, and products that are not added in place.
GpuEntry tracked_gpu() {
  GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM");
  gpu.multiprocessors = 1;
  gpu.compute_capability = "7.5";
  return gpu;
}

Recipe recipe_of(CsvFields& row, const ModelSpec& spec) {
  Recipe recipe;
  recipe.micro_batch = static_cast<std::int64_t>(row.number("batch"));
  recipe.sequence = static_cast<std::int64_t>(row.number("sequence"));
  recipe.precision = *parse_precision(row.text("precision"));
  if (!row.text("lora").empty()) recipe.adapter = {.rank = std::atoi(row.text("lora").c_str()), .alpha = 32, .targets = adapter_targets(spec)};
  return recipe;
}

}  // namespace

TEST_CASE("peaks with Liger's kernels are those of the library's own functions under PyTorch's memory tracker") {
  const std::string path = PLIMSOLL_REFERENCE_DATA "/liger_peaks.csv";
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const ModelSpec spec = *resolve_model(row.text("model"));
    StackSetup setup{.attention = AttentionKernel::kEager, .liger = true};
    if (row.text("recompute") == "full") setup.recomputation = Recomputation::kFull;
    const auto prediction = predict_stack(spec, recipe_of(row, spec), setup, tracked_gpu());
    REQUIRE(prediction);
    const double predicted = static_cast<double>(prediction->peak.requested.count) / static_cast<double>(kMiB.count) - kWorkspacesMib;
    INFO(row.text("model") << " " << row.text("precision") << " " << row.text("recompute") << " " << row.text("lora") << " at " << prediction->peak_at);
    // A checkpoint's tracker also sees small arguments that are kept beside its input.
    const double tolerance = setup.recomputation == Recomputation::kFull ? 0.005 : 0.0005;
    CHECK(predicted == Approx(row.number("peak_mib")).epsilon(tolerance));
  }
}
