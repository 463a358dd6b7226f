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

Recipe recipe_of(CsvFields& row, const ModelSpec& spec) {
  Recipe recipe;
  recipe.micro_batch = static_cast<std::int64_t>(row.number("batch"));
  recipe.sequence = static_cast<std::int64_t>(row.number("sequence"));
  recipe.target_sequence = std::atoi(row.text("target").c_str());
  recipe.precision = *parse_precision(row.text("precision"));
  if (row.text("lora").empty()) return recipe;
  recipe.adapter = {.rank = std::atoi(row.text("lora").c_str()), .alpha = 32, .targets = adapter_targets(spec)};
  if (row.text("base_bits") == "4") recipe.adapter.base = BaseStorage::kNf4;
  return recipe;
}

StackSetup setup_of(CsvFields& row) {
  StackSetup setup{.attention = AttentionKernel::kEager};
  if (row.text("recompute") == "full") setup.recomputation = Recomputation::kFull;
  if (!row.text("prepared").empty()) setup.kbit_preparation = row.text("prepared") == "yes";
  setup.adapter_dropout = std::atof(row.text("lora_dropout").c_str());
  return setup;
}

}  // namespace

TEST_CASE("eager peaks are those of PyTorch's own memory tracker") {
  const std::string path = PLIMSOLL_REFERENCE_DATA "/eager_peaks.csv";
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM");
  gpu.multiprocessors = 0;  // the tracker sees tensors, not the buffers that sums over rows take on a GPU
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const ModelSpec spec = *resolve_model(row.text("model"));
    const StackSetup setup = setup_of(row);
    const auto prediction = predict_stack(spec, recipe_of(row, spec), setup, gpu);
    REQUIRE(prediction);
    const double predicted =
        static_cast<double>(prediction->peak.requested.count) / static_cast<double>(kMiB.count) - kWorkspacesMib;
    INFO(row.text("model") << " " << row.text("precision") << " " << row.text("recompute") << " " << row.text("lora") << " base "
                           << row.text("base_bits") << " prepared " << row.text("prepared") << " dropout " << row.text("lora_dropout"));
    // A checkpoint's tracker also sees small arguments that are kept beside its input.
    const double tolerance = setup.recomputation == Recomputation::kFull ? 0.005 : 0.0005;
    CHECK(predicted == Approx(row.number("peak_mib")).epsilon(tolerance));
  }
}
