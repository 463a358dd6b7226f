#include "sim/stack/sequence_ranks.h"

#include <catch2/catch.hpp>
#include <string>

#include "sim/stack/modules/sequence_exchange.h"
#include "sim/stack/operators/tiled.h"
#include "tests/sim/stack/asked_stack.h"

namespace plimsoll {
namespace {

/// ZeRO-3 with checkpoints and states in host memory, as ALST has them.
StackSetup alst(std::int64_t data_ranks, std::int64_t context_ranks, bool tiled_mlp = false) {
  StackSetup setup{.stack = Stack::kDeepspeed, .recomputation = Recomputation::kFull, .data_ranks = data_ranks, .zero = 3};
  setup.context_ranks = context_ranks;
  setup.optimizer = Home::kHost;
  setup.liger = true;
  setup.tiled_mlp = tiled_mlp;
  return setup;
}

StackPrediction predict(const StackSetup& setup, std::int64_t sequence) {
  const auto made = asked_of_stack("llama3.1-8b", setup, sequence);
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("Heads of all ranks' tokens come by way of two copies and what arrives, and go back so") {
  Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
  const auto heads = [&](std::int64_t count) { return tape.empty({1, count, 128, 16}, DType::kBf16); };
  const AttentionHeads all = exchanged_heads(tape, {.q = heads(8), .k = heads(2), .v = heads(2)}, 4);
  CHECK(all.q.shape == Shape{1, 2, 512, 16});
  CHECK(all.k.shape == Shape{1, 1, 512, 16});  // two key heads were repeated for four ranks
  CHECK(exchanged_back(tape, all.q, 4).shape == Shape{1, 8, 128, 16});
  int exchanges = 0;
  for (const StackKernel& kernel : tape.kernels()) {
    if (kernel.sort != StackKernelSort::kCollective) continue;
    ++exchanges;
    CHECK(kernel.blocking);
    CHECK(kernel.ranks == 4);
  }
  CHECK(exchanges == 4);
  CHECK(tape.kernels().front().sort == StackKernelSort::kStream);
}

TEST_CASE("A rank of eight that share a sequence needs what its eighth would need alone, and the exchanged heads") {
  const StackPrediction alone = predict(alst(8, 1), 16384), shared = predict(alst(1, 8), 8 * 16384);
  CHECK(shared.at_peak.parameters == alone.at_peak.parameters);
  CHECK(shared.host == alone.host);
  CHECK(shared.at_peak.activations >= alone.at_peak.activations);
  CHECK(static_cast<double>(shared.at_peak.activations.count) < 1.25 * static_cast<double>(alone.at_peak.activations.count));
}

TEST_CASE("Ranks that share a sequence share its arithmetic") {
  const double whole = predict(alst(1, 1), 65536).time.model_flops;
  CHECK(predict(alst(1, 8), 65536).time.model_flops == Approx(whole / 8).epsilon(0.001));
}

TEST_CASE("Tiles of a feed-forward layer spare its width and compute no more of the model's own arithmetic") {
  const StackPrediction whole = predict(alst(8, 1), 65536), tiles = predict(alst(8, 1, true), 65536);
  const Bytes gate_and_up(2 * 65536LL * 14336 * 2);
  CHECK(whole.peak.requested - tiles.peak.requested > gate_and_up);
  CHECK(tiles.time.model_flops == Approx(whole.time.model_flops).epsilon(0.001));
  CHECK(tiles.time.hardware_flops > 1.05 * whole.time.hardware_flops);
}

TEST_CASE("A weight's gradient is ready after its last tile alone") {
  Tape tape;
  Parameter& weight = tape.parameter("w", {64, 64}, DType::kBf16);
  int ready = 0;
  weight.after_gradient = [&](Parameter&) { ++ready; };
  Tensor x = tape.empty({1, 256, 64}, DType::kBf16);
  x.maker = std::make_shared<Node>();
  const Tensor y = tiled(tape, x, 4, [&](const Tensor& tile) { return linear(tape, tile, {.weight = &weight}); });
  tape.backward(y, tape.empty(y.shape, y.dtype));
  CHECK(ready == 1);
}

TEST_CASE("What ranks cannot share is refused by name") {
  using Catch::Contains;
  CHECK_THAT(stack_refusal("llama3.1-8b", alst(1, 3), 65536), Contains("32 heads"));
  CHECK_THAT(stack_refusal("llama3.1-8b", alst(1, 8), 65537), Contains("65537 tokens"));
  CHECK_THAT(stack_refusal("gemma2-2b", alst(1, 2), 8192), Contains("eager"));
  CHECK_THAT(stack_refusal("deepseek-v3", alst(1, 2), 8192), Contains("deepseek-v3"));
  StackSetup shared = alst(1, 8);
  shared.zero = 2;
  CHECK_THAT(stack_refusal("llama3.1-8b", shared, 65536), Contains("ZeRO-3"));
  StackSetup tiled = alst(8, 1, true);
  tiled.stack = Stack::kPytorch;
  tiled.optimizer = Home::kDevice;
  CHECK_THAT(stack_refusal("llama3.1-8b", tiled, 65536), Contains("tiles"));
}

}  // namespace plimsoll
