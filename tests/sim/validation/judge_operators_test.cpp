#include <catch2/catch.hpp>

#include <string>

#include "formats/published/published_rows.h"
#include "sim/validation/judge_operators.h"

namespace plimsoll {
namespace {

const std::string kHeader =
    "kernel_name,kernel_provider,kernel_operation_mode,x_name,x_value,y_value_50,metric_unit,extra_benchmark_config_"
    "str,gpu_name,liger_version\n";

std::vector<OperatorOutcome> judge(const std::vector<PublishedRow>& rows) {
  const auto lexicon = shipped_lexicon();
  REQUIRE(lexicon);
  return judge_operators(rows, *lexicon);
}

std::string refusal_of(const std::string& line) {
  const auto rows = read_published_rows(kHeader + line + "\n", "rows.csv");
  REQUIRE(rows);
  const auto outcomes = judge(*rows);
  REQUIRE(outcomes.size() == 1);
  return outcomes.front().refusal;
}

}  // namespace

TEST_CASE("of the published benchmarks of operators nineteen of twenty are met within half a percent") {
  const auto rows = shipped_published_rows();
  REQUIRE(rows);
  const OperatorGroup all = summarize_operators(judge(*rows)).front();
  CHECK(all.rows == 799);
  CHECK(all.stated >= 791);
  CHECK(all.met >= 763);  // 95.5 %
}

TEST_CASE("a row of an operator is stated from its configuration, its swept value and its GPU") {
  const auto rows = read_published_rows(
      kHeader + "kl_div,torch,full,V,4096,1792,MB,\"{\"\"B\"\": 8, \"\"T\"\": 2048}\",NVIDIA H100 PCIe,0.2.1\n",
      "rows.csv");
  REQUIRE(rows);
  const auto lexicon = shipped_lexicon();
  REQUIRE(lexicon);
  const auto asked = state_operator(rows->front(), *lexicon);
  REQUIRE(asked);
  CHECK((*asked)["V"] == 4096);
  CHECK((*asked)["T"] == 2048);
  CHECK(asked->product_workspace == 32 * kMiB);
  CHECK(asked->gpu.multiprocessors == 114);
  CHECK(asked->version == 201);
}

TEST_CASE("what a row of an operator says and nobody knows is refused by name") {
  const std::string good = "softmax,torch,full,N,128,1,MB,{},NVIDIA GeForce RTX 3090,0.5.8";
  CHECK(refusal_of(good).empty());
  CHECK(refusal_of("matmul,torch,full,N,128,1,MB,{},NVIDIA GeForce RTX 3090,0.5.8") == "unknown operator: matmul");
  CHECK(refusal_of("softmax,jax,full,N,128,1,MB,{},NVIDIA GeForce RTX 3090,0.5.8") == "unknown provider: jax");
  CHECK(refusal_of("softmax,torch,twice,N,128,1,MB,{},NVIDIA GeForce RTX 3090,0.5.8") == "unknown mode: twice");
  CHECK(refusal_of("softmax,torch,full,N,128,1,acres,{},NVIDIA GeForce RTX 3090,0.5.8") == "unknown unit: acres");
  CHECK(refusal_of("softmax,torch,full,N,128,1,MB,{},Abacus 3000,0.5.8") == "unknown GPU: Abacus 3000");
  CHECK(refusal_of("softmax,torch,full,N,1.5,1,MB,{},NVIDIA GeForce RTX 3090,0.5.8") == "unreadable x_value: 1.5");
  CHECK(refusal_of("softmax,torch,full,M,128,1,MB,{},NVIDIA GeForce RTX 3090,0.5.8") == "size not stated: N");
  CHECK(refusal_of(
            "softmax,torch,full,N,128,1,MB,\"{\"\"dtype\"\": \"\"torch.int3\"\"}\",NVIDIA GeForce RTX 3090,0.5.8") ==
        "unknown type: torch.int3");
}

}  // namespace plimsoll
