#include <catch2/catch.hpp>

#include <cmath>

#include "formats/published/published_rows.h"
#include "sim/validation/judge_inference.h"

using namespace plimsoll;

TEST_CASE("every rate of FlexGen's whose policy and host are told is predicted within 20 %") {
  const auto rows = shipped_inference_rows();
  REQUIRE(rows);
  int held = 0;
  for (const InferenceOutcome& outcome : judge_inference(*rows)) {
    INFO(outcome.row->place << ": " << outcome.row->field("model") << ' ' << outcome.row->field("percent") << ' '
                            << outcome.refusal);
    REQUIRE(outcome.answer);
    CHECK(outcome.answer->time.seconds() >= outcome.answer->bound_seconds);
    const bool told = outcome.row->field("system").starts_with("FlexGen") && outcome.row->field("gpu") == "T4";
    if (!told) continue;
    ++held;
    CHECK(std::abs(*outcome.error()) <= 0.20);
  }
  CHECK(held == 12);
}

TEST_CASE("a row that cannot be read is refused with its column") {
  const auto rows = read_published_rows(
      "system,model,prompt,new_tokens,batch,gpu_batch,percent,cpu_attention,weight_bits,cache_bits,pageable,eager_codes,overlap,"
      "gpu,ram_gb,"
      "cores,dram_gbs,ssd_read_gbs,ssd_write_gbs,metric,value,unit,open,source\n"
      "own,opt-1.3b,many,8,4,4,\"100,0,100,0,100,0\",no,16,16,,no,yes,T4,64,,,,,generation_throughput,5,tokens/s,,own\n",
      "own.csv");
  REQUIRE(rows);
  const auto outcomes = judge_inference(*rows);
  REQUIRE_FALSE(outcomes.front().answer);
  CHECK(outcomes.front().refusal == "column 'prompt': cannot read 'many'");
}
