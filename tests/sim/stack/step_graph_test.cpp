#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <memory>

#include "formats/graphs/step_graph.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/recorded/recorded_maker.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

/// y = x Wᵀ with W [1024, 1024] (4 MiB), x [512, 1024] (2 MiB), y as large as x; the loss is y's mean. `extra` stands before the end
/// of the backward product.
std::string linear_step(const std::string& extra = "") {
  return fmt::format(
      R"({{"format": "plimsoll step graph", "format_version": 1, "name": "linear", "samples": 512, "precision": "fp32",
 "storages": [{0}, {1}, {1}, 4, 4, {1}, {0}],
 "parameters": [{{"name": "weight", "storage": 0, "shape": [1024, 1024], "dtype": "fp32"}}], "inputs": [1], "loss": 3,
 "ops": [
  {{"op": "mm", "phase": "forward", "reads": [0, 1], "makes": [2],
    "kernels": [{{"sort": "product", "dtype": "fp32", "m": 512, "k": 1024, "n": 1024}}]}},
  {{"op": "mean", "phase": "forward", "reads": [2], "makes": [3], "frees": [2]}},
  {{"op": "ones_like", "phase": "backward", "reads": [3], "makes": [4], "frees": [3]}},
  {{"op": "div", "phase": "backward", "reads": [4], "makes": [5], "frees": [4]}},
  {{"op": "mm", "phase": "backward", "at": "layer", "reads": [1, 5], "makes": [6], "frees": [5], "gradients": {{"weight": 6}}{2},
    "kernels": [{{"sort": "product", "dtype": "fp32", "m": 1024, "k": 512, "n": 1024}}]}}]}})",
      4 * kMi, 2 * kMi, extra);
}

Result<StackPrediction> predict(const StepGraph& graph, std::int64_t accumulate = 1) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), "RTX 3090");
  REQUIRE(gpu);
  Recipe recipe = with_optimizer({.precision = graph.precision, .micro_batch = graph.samples, .clip = 0}, OptimizerKind::kSgd);
  recipe.accumulate = accumulate;
  return predict_model(recorded_maker(std::make_shared<const StepGraph>(graph)), recipe, {.stack = Stack::kPytorch}, *gpu);
}

}  // namespace

TEST_CASE("a recorded step needs what it held when most was live") {
  const auto graph = read_step_graph(linear_step(), "linear.json");
  REQUIRE(graph);
  CHECK(graph->parameter_count() == 1024 * 1024);
  const auto prediction = predict(*graph);
  REQUIRE(prediction);
  // While the gradient of W is made: W 4 MiB, x 2 MiB, the gradient of y 2 MiB, that of W 4 MiB; the loss and its gradient, of
  // four bytes each; and a workspace of cuBLAS for each of the two threads.
  const std::int64_t workspace = 8519680;
  CHECK(prediction->peak.requested == Bytes(12 * kMi + 8 + 2 * workspace));
  CHECK(prediction->peak_at.find("backward, layer") != std::string::npos);
  CHECK(prediction->at_peak.parameters == Bytes(4 * kMi));
  // 2 · 512 · 1024 · 1024 FLOPs forward, as many for the weight's gradient.
  CHECK(prediction->time.model_flops == 2 * 2.0 * 512 * 1024 * 1024);
}

TEST_CASE("a second micro-batch adds to the gradient that is there") {
  const auto graph = read_step_graph(linear_step(), "linear.json");
  REQUIRE(graph);
  const auto once = predict(*graph), twice = predict(*graph, 2);
  REQUIRE(once);
  REQUIRE(twice);
  // The sum of gradients, 4 MiB, stays while the second one is made; a loss that is divided is a tensor more of four bytes.
  CHECK(twice->peak.requested - once->peak.requested >= Bytes(4 * kMi));
  CHECK(twice->peak.requested - once->peak.requested <= Bytes(4 * kMi + 8));
}

TEST_CASE("a graph whose memory does not come and go in order is refused with the operation") {
  const std::pair<const char*, const char*> spoilt[] = {
      {R"(, "at": "again")", "at"},                      // a key given twice
      {R"(, "colour": 1)", "colour"},                    // an unknown key
  };
  for (const auto& [extra, named] : spoilt) {
    const auto read = read_step_graph(linear_step(extra), "spoilt.json");
    REQUIRE(!read);
    CHECK(read.error().text().find(named) != std::string::npos);
  }
  const auto replaced = [](std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string_view changes[][3] = {
      {R"("frees": [5])", R"("frees": [2])", "ops[4]"},           // freed already
      {R"("frees": [5])", R"("frees": [0])", "ops[4]"},           // a parameter's
      {R"("makes": [5])", R"("makes": [1])", "ops[3]"},           // an input's
      {R"("reads": [4])", R"("reads": [6])", "ops[3]"},           // not there yet
      {R"("reads": [4])", R"("reads": [7])", "ops[3]"},           // no such storage
      {R"("loss": 3)", R"("loss": 2)", "ops[2]"},                 // gone when backward begins
      {R"("weight": 6)", R"("bias": 6)", "gradients"},            // no such parameter
      {R"([1024, 1024])", R"([1024, 1025])", "weight"},           // larger than its storage
      {R"([1024, 1024])", R"([1099511627776, 1099511627776])", "weight"},
      {R"(step graph")", R"(step grap")", "format"},
  };
  for (const auto& change : changes) {
    const std::string text = linear_step();
    REQUIRE(text.find(change[0]) != std::string::npos);
    const auto read = read_step_graph(replaced(text, change[0], change[1]), "spoilt.json");
    INFO(change[1]);
    REQUIRE(!read);
    CHECK(read.error().text().find(change[2]) != std::string::npos);
  }
  const std::string whole = linear_step();
  for (std::size_t length = 0; length < whole.size(); length += 7) CHECK(!read_step_graph(whole.substr(0, length), "cut.json"));
}

}  // namespace plimsoll
