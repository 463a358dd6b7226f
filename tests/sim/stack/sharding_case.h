#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"

/// What the tests of shared states and gradients have in common: a small GPT on one board, in nanoGPT's loop.
namespace plimsoll::sharding_case {

inline GpuEntry board() { return *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"); }

inline Recipe recipe(Precision precision) {
  Recipe made;
  made.micro_batch = 2;
  made.sequence = 128;
  made.precision = precision;
  return made;
}

inline StackPrediction predict(const std::string& model, const Recipe& made, const StackSetup& setup) {
  const auto prediction = predict_stack(*resolve_model(model), made, setup, board());
  REQUIRE(prediction);
  return *prediction;
}

inline const char* const kModel = "gpt:layers=8,hidden=512,heads=8,vocab=2048,positions=128";
// 2048 · 512 + 128 · 512 + 8 · (12 · 512² + 13 · 512) + 2 · 512
inline constexpr double kParameters = 1048576 + 65536 + 8 * (3145728 + 6656) + 1024;

inline StackSetup nano(std::int64_t ranks, int zero, Stack stack = Stack::kPytorch) {
  return {.stack = stack, .modules = ModuleStyle::kNanoGpt, .loop = OptimizerLoop::kFused, .dropout = 0, .data_ranks = ranks, .zero = zero};
}

}  // namespace plimsoll::sharding_case
