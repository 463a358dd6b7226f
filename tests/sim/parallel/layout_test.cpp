#include <catch2/catch.hpp>

#include "tests/sim/parallel/training.h"

namespace plimsoll {
namespace {

std::string refusal(const ParallelLayout& layout, std::int64_t gpus) {
  const auto checked = check_layout(test::gpt_on(8).spec, test::gpt_on(8).recipe, layout, gpus);
  return checked ? "" : checked.error().where;
}

}  // namespace

TEST_CASE("A degree that does not divide what it shares is named before anything starts") {
  CHECK(refusal({.data_ranks = 2, .tensor_ranks = 2, .stages = 2, .global_batch = 8}, 8).empty());
  CHECK(refusal({.tensor_ranks = 3, .global_batch = 1}, 3) == "--tp");  // 16 heads
  CHECK(refusal({.stages = 3, .global_batch = 3}, 3) == "--pp");        // 8 layers; 10 do not divide by 3 either
  CHECK(refusal({.stages = 2, .chunks = 3, .global_batch = 2}, 2) == "--pp");
  CHECK(refusal({.context_ranks = 3, .global_batch = 1}, 3) == "--cp");  // 1024 tokens
  CHECK(refusal({.data_ranks = 2, .tensor_ranks = 2, .global_batch = 8}, 8) == "--gpus");
  CHECK(refusal({.data_ranks = 8, .global_batch = 12}, 8) == "--global-batch");
  CHECK(refusal({.data_ranks = 4, .stages = 2, .schedule = "interleaved", .chunks = 2, .global_batch = 12}, 8) ==
        "--schedule interleaved");
  CHECK(refusal({.stages = 8, .zero = 1, .global_batch = 8}, 8) == "--zero");
  CHECK(refusal({.data_ranks = 8, .expert_ranks = 2, .global_batch = 8}, 8) == "--ep");  // no experts
  constexpr auto kFull = Recomputation::kFull;
  CHECK(refusal({.tensor_ranks = 8, .recomputation = kFull, .partitions_checkpoints = true}, 8).empty());
  CHECK(refusal({.tensor_ranks = 8, .partitions_checkpoints = true}, 8) == "--partition-activations");
  CHECK(refusal({.recomputation = kFull, .partitions_checkpoints = true}, 1) == "--partition-activations");
  CHECK(refusal({.tensor_ranks = 8, .sequence_parallel = true, .recomputation = kFull, .partitions_checkpoints = true}, 8) ==
        "--partition-activations");
  CHECK(refusal({.tensor_ranks = 8, .sequence_parallel = true, .cuts_products = true}, 8).empty());
  CHECK(refusal({.tensor_ranks = 8, .cuts_products = true}, 8) == "--tp-comm-overlap");
  CHECK(refusal({.data_ranks = 8, .global_batch = 8, .cuts_products = true}, 8) == "--tp-comm-overlap");
}

TEST_CASE("Layers divide evenly, or the ends of the model count as one each") {
  CHECK(layers_of_stretch(8, 4, 2) == 2);
  // 22 layers with embedding and head are 24 over 8 stages: 2, 3, …, 3, 2.
  CHECK(layers_of_stretch(22, 8, 0) == 2);
  CHECK(layers_of_stretch(22, 8, 3) == 3);
  CHECK(layers_of_stretch(22, 8, 7) == 2);
  CHECK(layers_of_stretch(23, 8, 0) == 0);
}

}  // namespace plimsoll
