#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "formats/models/resolve_model.h"
#include "sim/stack/llmc/llmc_arenas.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

Recipe recipe(std::int64_t batch) {
  Recipe made;
  made.micro_batch = batch;
  made.sequence = 1024;
  made.precision = Precision::kBf16Mixed;
  return made;
}

StackSetup llmc(int recompute, std::int64_t ranks) {
  return {.stack = Stack::kLlmc, .recomputation = recompute == 0 ? Recomputation::kNone : Recomputation::kSelective,
          .data_ranks = ranks, .zero = ranks > 1 ? 1 : 0};
}

double mib(Bytes bytes) { return static_cast<double>(bytes.count) / static_cast<double>(kMiB.count); }

}  // namespace

TEST_CASE("llm.c reserves for activations what it prints") {
  // Its own lines: 124M with B 4 and B 56 (recomputing GELU), 1326 and 18564 MiB.
  const ModelSpec small = *resolve_model("gpt2");
  CHECK(std::floor(mib(llmc_arenas(small, recipe(4), llmc(1, 1)).activations)) == 1326);
  CHECK(std::floor(mib(llmc_arenas(small, recipe(56), llmc(1, 1)).activations)) == 18564);
}

TEST_CASE("llm.c's processes are met within 0.5 percent and 8 MiB") {
  // nvidia-smi of 1558M (B 4, T 1024) on 2 and 4 RTX 3090 and on 2 RTX 4090.
  struct Row {
    const char* gpu;
    int recompute;
    std::int64_t ranks;
    double mib;
  };
  for (const Row& row : {Row{"RTX 3090", 1, 2, 23248}, Row{"RTX 3090", 1, 4, 18790}, Row{"RTX 3090", 0, 4, 21140}, Row{"RTX 4090", 1, 2, 23406}}) {
    const auto prediction = predict_stack(*resolve_model("gpt2-xl"), recipe(4), llmc(row.recompute, row.ranks), *find_gpu(built_in_gpu_catalogue(), row.gpu));
    REQUIRE(prediction);
    CHECK(std::abs(mib(prediction->peak.process) - row.mib) < std::min(8.0, 0.005 * row.mib));
    CHECK(prediction->fits);
  }
}

TEST_CASE("llm.c does not fit where it was seen to fail") {
  // 1558M on RTX 4090: B 4 without recomputation on two, B 4 with it on one; on RTX 3090: B 8 with it on four.
  const auto fits = [](const char* gpu, std::int64_t batch, int recompute, std::int64_t ranks) {
    return predict_stack(*resolve_model("gpt2-xl"), recipe(batch), llmc(recompute, ranks), *find_gpu(built_in_gpu_catalogue(), gpu))->fits;
  };
  CHECK_FALSE(fits("RTX 4090", 4, 0, 2));
  CHECK_FALSE(fits("RTX 4090", 4, 1, 1));
  CHECK_FALSE(fits("RTX 3090", 8, 1, 4));
}

TEST_CASE("llm.c refuses what it does not train by name") {
  const auto refused = predict_stack(*resolve_model("llama2-7b"), recipe(1), llmc(0, 1), *find_gpu(built_in_gpu_catalogue(), "RTX 3090"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("another architecture") != std::string::npos);
}

}  // namespace plimsoll
