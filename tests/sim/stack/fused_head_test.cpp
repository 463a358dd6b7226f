#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/operators/tiled_linear_loss.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/replay_log.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestTable{std::int64_t{1} << 20};

struct HeadCase {
  std::int64_t rows = 0, hidden = 0, words = 0;
  std::string hidden_type, weight_type;
  std::int64_t forward = 0, backward = 0;
};

std::vector<HeadCase> tracked_cases() {
  const std::string path = PLIMSOLL_FUSED_HEAD_PEAKS;
  const auto table = read_csv(*read_text_file(path, kLargestTable), path);
  REQUIRE(table);
  std::vector<HeadCase> cases;
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const auto whole = [&](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
    cases.push_back({whole("rows"), whole("hidden"), whole("words"), row.text("hidden_type"), row.text("weight_type"), whole("forward_bytes"), whole("backward_bytes")});
    REQUIRE_FALSE(row.error());
  }
  REQUIRE(cases.size() == 6);
  return cases;
}

DType type_of(const std::string& name) { return name == "bf16" ? DType::kBf16 : DType::kFp32; }

/// Above what the hidden states and the weight take.
std::int64_t peak_of(const HeadCase& one, bool backward) {
  Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
  Parameter& weight = tape.parameter("head", {one.words, one.hidden}, type_of(one.weight_type));
  Tensor x = tape.empty({one.rows, one.hidden}, type_of(one.hidden_type));
  x.maker = std::make_shared<Node>();
  const std::int64_t inputs = x.bytes().count + weight.value.bytes().count;
  tape.with_autocast(DType::kBf16, [&] {
    const Tensor loss = tiled_linear_cross_entropy(tape, x, weight);
    if (backward) tape.backward(loss, tape.empty({1}, DType::kFp32));
  });
  return replay_log(tape.log(), {}).requested.count - inputs;
}

StackPrediction predicted(const std::string& model, const StackSetup& setup, std::int64_t batch) {
  Recipe recipe;
  recipe.sequence = 1024;
  recipe.micro_batch = batch;
  recipe.precision = Precision::kBf16Mixed;
  const auto made = predict_stack(*resolve_model(model), recipe, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"));
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("TRL's fused head holds at its peaks what its own function holds") {
  for (const HeadCase& one : tracked_cases()) {
    INFO(one.rows << " rows of " << one.hidden << " in " << one.hidden_type << ", weight in " << one.weight_type);
    CHECK(static_cast<double>(peak_of(one, false)) == Approx(static_cast<double>(one.forward)).epsilon(0.005));
    CHECK(static_cast<double>(peak_of(one, true)) == Approx(static_cast<double>(one.backward)).epsilon(0.005));
  }
}

TEST_CASE("Logits that are never whole leave the vocabulary out of what a token costs, and are computed twice") {
  const StackSetup whole{.recomputation = Recomputation::kFull};
  StackSetup fused = whole;
  fused.fused_head = true;
  const auto each = [](const StackSetup& setup) {
    return (predicted("gpt2", setup, 32).peak.allocated - predicted("gpt2", setup, 16).peak.allocated).count / (16 * 1024);
  };
  // Whole logits in fp32, their log-probabilities and a gradient are some 3 · 4 · 50,257 B = 603 kB a token; hidden states are 1.5 to 3 kB each.
  CHECK(each(whole) > 500'000);
  CHECK(each(fused) < each(whole) / 3);
  const StackPrediction before = predicted("gpt2", whole, 16), after = predicted("gpt2", fused, 16);
  CHECK(after.time.model_flops == Approx(before.time.model_flops).epsilon(0.001));
  // Once more 2 · 768 · 50,257 FLOP for each of 16 · 1024 tokens: 1.265 TFLOP.
  CHECK(after.time.hardware_flops - before.time.hardware_flops == Approx(2.0 * 768 * 50257 * 16 * 1024).epsilon(0.01));
}

}  // namespace plimsoll
