#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/megatron/megatron_steps.h"
#include "sim/stack/predict_stack.h"
#include "tests/sim/stack/megatron_case.h"

namespace plimsoll {
namespace {

const char* const kGolden = "gpt:layers=12,hidden=512,heads=8,vocab=50304,positions=1024";

StackPrediction predict(const std::string& model, const Recipe& made, const StackSetup& setup, const char* board) {
  const auto prediction = predict_stack(*resolve_model(model), made, setup, *find_gpu(built_in_gpu_catalogue(), board));
  REQUIRE(prediction);
  return *prediction;
}

/// What one more layer adds to the activations at the peak.
double activations_of_a_layer(const Recipe& made, const StackSetup& setup) {
  const auto at = [&](int layers) {
    const std::string model = "gpt:layers=" + std::to_string(layers) + ",hidden=1024,heads=16,vocab=32768,positions=1024";
    return predict(model, made, setup, "H100 SXM5 80GB").at_peak.activations.count;
  };
  return static_cast<double>(at(8) - at(4)) / 4;
}

}  // namespace

TEST_CASE("A layer of Megatron keeps what the papers' formulas say") {
  // Korthikanti et al. 2022: sbh (34 + 5 as/h), cut by t and by rows; and the norms' statistics, 16 bytes a row.
  const double sbh = 1024.0 * 8 * 1024;
  const double ass = 16.0 * 1024 * 1024 * 8;
  const Recipe made = megatron_recipe(8, 1024);
  StackSetup setup = megatron_setup(AttentionKernel::kEager, 1, 1);
  CHECK(activations_of_a_layer(made, setup) == Approx(34 * sbh + 5 * ass + 16 * 8192).epsilon(5e-3));
  setup.tensor_ranks = 4;
  CHECK(activations_of_a_layer(made, setup) == Approx((10 + 24.0 / 4) * sbh + 5 * ass / 4 + 16 * 8192).epsilon(5e-3));
  setup.sequence_parallel = true;
  CHECK(activations_of_a_layer(made, setup) == Approx((34 * sbh + 5 * ass) / 4 + 16 * 2048).epsilon(5e-3));
  setup.recomputation = Recomputation::kSelective;
  CHECK(activations_of_a_layer(made, setup) == Approx(34 * sbh / 4 + 16 * 2048).epsilon(5e-3));
  setup.recomputation = Recomputation::kFull;
  CHECK(activations_of_a_layer(made, setup) == Approx(2 * sbh / 4).epsilon(5e-3));
}

TEST_CASE("A stage runs one forward and one backward in turns once it is warm") {
  using Passes = std::vector<StagePass>;
  CHECK(stage_passes(1, 2, 1, 2) == Passes{{false, 0}, {true, 0}, {false, 0}, {true, 0}});
  CHECK(stage_passes(0, 2, 1, 2) == Passes{{false, 0}, {false, 0}, {true, 0}, {true, 0}});
  // Two chunks on the last of two stages: 2 · 0 + 1 · 2 passes ahead.
  CHECK(stage_passes(1, 2, 2, 4) == Passes{{false, 0}, {false, 0}, {false, 1}, {true, 1}, {false, 1}, {true, 1}, {false, 0}, {true, 0},
                                           {false, 0}, {true, 0}, {false, 1}, {true, 1}, {false, 1}, {true, 1}, {true, 0}, {true, 0}});
}

TEST_CASE("Megatron's golden peaks are met within 0.5 percent and 8 MiB") {
  // NVIDIA/Megatron-LM, tests/functional_tests: mem-max-allocated-bytes of GPTs of 12 layers of 512, batch 4, 1024 tokens.
  struct Row {
    const char* gpu;
    AttentionKernel attention;
    std::int64_t tensor_ranks, stages;
    Recomputation recomputation;
    int zero;
    double bytes;
  };
  constexpr auto kEager = AttentionKernel::kEager;
  constexpr auto kFlash = AttentionKernel::kFlash;
  const Row rows[] = {{"A100 80GB SXM4", kEager, 1, 1, Recomputation::kNone, 1, 4673069568.0},
                      {"H100 SXM5 80GB", kFlash, 1, 1, Recomputation::kNone, 1, 2691792384.0},
                      {"A100 80GB SXM4", kEager, 1, 1, Recomputation::kFull, 0, 2534070272.0},
                      {"A100 80GB SXM4", kFlash, 2, 2, Recomputation::kNone, 0, 1411918336.0},
                      {"A100 80GB SXM4", kEager, 2, 2, Recomputation::kNone, 0, 1898061312.0}};
  for (const Row& row : rows) {
    StackSetup setup = megatron_setup(row.attention, row.tensor_ranks, row.stages);
    setup.recomputation = row.recomputation;
    setup.zero = row.zero;
    setup.data_ranks = row.zero > 0 ? 8 : 1;
    const auto peak = static_cast<double>(predict(kGolden, megatron_recipe(4, 1024), setup, row.gpu).peak.allocated.count);
    INFO(row.bytes << " " << peak / row.bytes - 1);
    CHECK(std::abs(peak - row.bytes) < std::min(0.005 * row.bytes, 8.0 * 1048576));
  }
}

TEST_CASE("Interleaved chunks hold more micro-batches of fewer layers") {
  // Three layers a stage as three chunks: 2 · 0 + 2 · 4 warm-up passes and one more, nine layers in all instead of three.
  StackSetup setup = megatron_setup(AttentionKernel::kEager, 1, 4);
  const auto plain = predict(kGolden, megatron_recipe(4, 1024), setup, "A100 80GB SXM4").peak.allocated;
  setup.chunks = 3;
  const auto chunked = predict(kGolden, megatron_recipe(4, 1024), setup, "A100 80GB SXM4").peak.allocated;
  const double layer = 34.0 * 1024 * 4 * 512 + 5.0 * 8 * 1024 * 1024 * 4;
  CHECK(static_cast<double>((chunked - plain).count) == Approx(6 * layer).epsilon(0.02));
}

TEST_CASE("Embedding and head count as layers where a stage would have a part of one") {
  ModelSpec spec = *resolve_model(kGolden);
  const StackSetup setup = megatron_setup(AttentionKernel::kFlash, 1, 4);
  spec.layers = 14;  // 16 over four stages
  CHECK(layers_of_chunk(spec, setup, 0) == 3);
  CHECK(layers_of_chunk(spec, setup, 1) == 4);
  CHECK(layers_of_chunk(spec, setup, 3) == 3);
  spec.layers = 13;
  CHECK(layers_of_chunk(spec, setup, 0) == 0);
}

TEST_CASE("Megatron-DeepSpeed keeps autograd's gradients beside the sums") {
  StackSetup setup = megatron_setup(AttentionKernel::kFlash, 2, 1);
  const auto own = predict(kGolden, megatron_recipe(4, 1024), setup, "A100 80GB SXM4").at_peak.gradients;
  setup.stack = Stack::kDeepspeed;
  const auto both = predict(kGolden, megatron_recipe(4, 1024), setup, "A100 80GB SXM4").at_peak.gradients;
  CHECK(static_cast<double>(both.count) == Approx(1.5 * static_cast<double>(own.count)).epsilon(0.01));
}

TEST_CASE("DeepSpeed fills stages one after another, and the last takes what is left") {
  // BigScience's notes: 78 layers on 12 stages are seven each and one on the last.
  ModelSpec spec = *resolve_model(kGolden);
  StackSetup setup = megatron_setup(AttentionKernel::kEager, 2, 12);
  setup.stack = Stack::kDeepspeed;
  spec.layers = 78;
  CHECK(layers_of_chunk(spec, setup, 0) == 7);
  CHECK(layers_of_chunk(spec, setup, 10) == 7);
  CHECK(layers_of_chunk(spec, setup, 11) == 1);
  spec.layers = 15;  // two each would leave nothing for the last four
  CHECK(layers_of_chunk(spec, setup, 0) == 0);
}

TEST_CASE("DeepSpeed's pipeline keeps what a stage made of every micro-batch until its backward pass") {
  // The second of eight stages has seven micro-batches under way when the first returns: seven results of 4 · 1024 rows of 512 in two bytes.
  // What a locally summed gradient of a matrix takes beside them is 2 · 512 · 2048 bytes.
  Recipe made = megatron_recipe(4, 1024);
  made.precision = Precision::kFp16Mixed;
  StackSetup setup = megatron_setup(AttentionKernel::kFlash, 1, 6);
  setup.recomputation = Recomputation::kFull;
  setup.stage = 1;
  const auto sent = predict(kGolden, made, setup, "A100 80GB SXM4").at_peak.activations;
  setup.stack = Stack::kDeepspeed;
  const auto kept = predict(kGolden, made, setup, "A100 80GB SXM4").at_peak.activations;
  const double result = 4.0 * 1024 * 512 * 2;
  CHECK(static_cast<double>((kept - sent).count) == Approx(5 * result).margin(2 * 512 * 2048));
}

TEST_CASE("DeepSpeed's fp16 optimizers make gradients fp32 as their code does") {
  // Two bytes of gradient an element of the weights' two. ZeRO-1 over four ranks adds a quarter of the partition's two and four bytes: 2 + 1.5
  // over 2, and holds a quarter of 12. Without ZeRO every gradient is made fp32, and all lie side by side once more: 2 + 4 + 4.
  Recipe made = megatron_recipe(1, 64);
  made.precision = Precision::kFp16Mixed;
  StackSetup setup = megatron_setup(AttentionKernel::kFlash, 2, 1);
  setup.stack = Stack::kDeepspeed;
  const auto ratio = [](Bytes part, Bytes whole) { return static_cast<double>(part.count) / static_cast<double>(whole.count); };
  const auto alone = predict(kGolden, made, setup, "A100 80GB SXM4").at_peak;
  CHECK(ratio(alone.gradients, alone.parameters) == Approx(5).epsilon(0.01));
  CHECK(ratio(alone.optimizer, alone.parameters) == Approx(6).epsilon(0.01));
  setup.data_ranks = 4;
  setup.zero = 1;
  CHECK(ratio(predict(kGolden, made, setup, "A100 80GB SXM4").at_peak.optimizer, alone.parameters) == Approx(1.5).epsilon(0.01));
}

TEST_CASE("Degrees that do not divide a model are refused by name") {
  const auto refused = predict_stack(*resolve_model(kGolden), megatron_recipe(4, 1024), megatron_setup(AttentionKernel::kFlash, 3, 1),
                                     *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("3 tensor ranks") != std::string::npos);
}

}  // namespace plimsoll
