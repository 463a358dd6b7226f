#include <catch2/catch.hpp>

#include "formats/plans/layer_profile.h"
#include "formats/text/read_text_file.h"
#include "sim/planner/partition/choose_ways.h"
#include "sim/planner/partition/piper_partition.h"
#include "sim/planner/partition/solve_partition.h"

namespace plimsoll {

TEST_CASE("piper_partition of BERT-32 on 512 devices of 8 GiB is no slower than the published planner's") {
  const std::string file = std::string(PLIMSOLL_PROFILE_DATA) + "/piper/bert32a100.json";
  const auto profile = read_layer_profile(*read_text_file(file, kMiB), file);
  INFO((profile ? "" : profile.error().text()));
  REQUIRE(profile);
  const PartitionTask task{.graph = profile->graph,
                           .levels = {{512, profile->bandwidth}},
                           .memory = 8 * kGiB,
                           .micro_batches = profile->micro_batches};
  const auto answer = solve_partition(task, PartitionMethod::kPiper);
  REQUIRE(answer);
  REQUIRE(answer->best);
  CHECK(answer->best->exact);
  CHECK(answer->cost.slowest_seconds <= 0.00256113);
  CHECK(answer->cost.slowest_seconds >= answer->lower_bound);
}

TEST_CASE("choose_ways changes what costs least a byte, best_ways what costs least at all") {
  // 10 bytes too many: layer 0 gives 10 for 3 s (0.3 a byte), layer 1 gives 8 for 1 s (0.125) and then more is needed.
  const std::vector<std::vector<WayCost>> layers{{{1, Bytes(20)}, {4, Bytes(10)}}, {{1, Bytes(10)}, {2, Bytes(2)}}};
  const auto greedy = choose_ways(layers, Bytes(20));
  REQUIRE(greedy);
  CHECK(greedy->seconds == 6);  // both
  CHECK(greedy->least_seconds == Approx(2 + 1 + 0.2 * 3));
  const auto best = best_ways(layers, Bytes(20));
  REQUIRE(best);
  CHECK(best->seconds == 5);  // layer 0 alone
  CHECK(best->ways == std::vector<std::uint32_t>{1, 0});
  CHECK_FALSE(choose_ways(layers, Bytes(11)));
}

}  // namespace plimsoll
