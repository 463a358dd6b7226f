#include <catch2/catch.hpp>

#include "formats/published/published_rows.h"
#include "sim/validation/judge_parallel.h"

namespace plimsoll {
namespace {

const std::vector<ParallelOutcome>& outcomes() {
  static const std::vector<PublishedRow> rows = *shipped_parallel_rows();
  static const std::vector<ParallelOutcome> judged = judge_parallel(rows, *shipped_parallel_rules());
  return judged;
}

}  // namespace

TEST_CASE("Published steps of many devices are stated: all of Megatron's tables and vTrain's 109") {
  CHECK(parallel_errors(outcomes(), "Megatron PTD-P").rows == 10);
  CHECK(parallel_errors(outcomes(), "Megatron recomputation").rows == 8);
  CHECK(parallel_errors(outcomes(), "vTrain").rows == 109);
}

TEST_CASE("Published steps of many devices stay as near as they were reached, without a constant fitted on them") {
  CHECK(parallel_errors(outcomes(), "").mean < 0.080);                         // 7.7 %
  CHECK(parallel_errors(outcomes(), "").scaled_mean < 0.070);                  // 6.7 % with one scalar a machine
  CHECK(parallel_errors(outcomes(), "Megatron PTD-P").mean < 0.026);           // 2.3 %
  CHECK(parallel_errors(outcomes(), "Megatron recomputation").mean < 0.0365);  // 2.9 %
  CHECK(parallel_errors(outcomes(), "vTrain").mean < 0.090);                   // 8.5 %
}

}  // namespace plimsoll
