#include <catch2/catch.hpp>

#include <algorithm>

#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

constexpr const char* kModel = "llama:layers=4,hidden=512,heads=8,kv_heads=8,ffn=1408,vocab=8000";

StackPrediction predict(const SequenceLengths& lengths, bool expandable = false) {
  Recipe recipe;
  recipe.micro_batch = 4;
  recipe.sequence = 512;
  recipe.precision = Precision::kBf16;
  StackSetup setup{.attention = AttentionKernel::kFlash, .lengths = lengths};
  setup.expandable_segments = expandable;
  const auto prediction = predict_stack(*resolve_model(kModel), recipe, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"));
  REQUIRE(prediction);
  return *prediction;
}

}  // namespace

TEST_CASE("A range of lengths is read, and what is none is named") {
  const auto range = parse_length_range("91..2048");
  REQUIRE(range);
  CHECK(range->shortest == 91);
  CHECK(range->longest == 2048);
  for (const char* text : {"", "91", "..", "91..", "2048..91", "0..8", "a..b", "1..2..3", "1..99999999999999999999"}) CHECK(!parse_length_range(text));
}

TEST_CASE("A list of lengths has one a line, blank lines aside") {
  const auto lengths = read_lengths("12\n\n 700 \r\n3", "lengths.txt");
  REQUIRE(lengths);
  CHECK(lengths->seen == std::vector<std::int64_t>{12, 700, 3});
  for (const char* text : {"", "\n\n", "12\nmany", "-3", "0"}) {
    const auto refused = read_lengths(text, "lengths.txt");
    REQUIRE(!refused);
    CHECK(refused.error().where == "lengths.txt");
  }
}

TEST_CASE("A sequence has as many tokens as the mean of those that are cut") {
  CHECK(mean_length({.seen = {5, 50, 500}}, 100) == Approx((5 + 50 + 100) / 3.0));
  CHECK(mean_length({.shortest = 2, .longest = 5}, 100) == Approx(3.5));
  CHECK(mean_length({.shortest = 2, .longest = 5}, 3) == Approx((2 + 3 + 3 + 3) / 4.0));
  CHECK(mean_length({.shortest = 4, .longest = 5}, 3) == Approx(3));
  CHECK(mean_length({}, 100) == 0);
}

TEST_CASE("A micro-batch is as long as its longest sequence, which is cut") {
  const SequenceLengths lengths{.seen = {5, 50, 500}};
  LengthDraws alone(lengths, 1, 100), many(lengths, 64, 100), again(lengths, 1, 100);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t drawn = alone.next();
    CHECK((drawn == 5 || drawn == 50 || drawn == 100));
    CHECK(again.next() == drawn);
    CHECK(many.next() == 100);
  }
}

TEST_CASE("Lengths that do not vary change nothing") {
  const StackPrediction even = predict({}), drawn = predict({.shortest = 512, .longest = 512});
  CHECK(drawn.peak.requested == even.peak.requested);
  CHECK(drawn.peak.allocated == even.peak.allocated);
  CHECK(drawn.peak.reserved == even.peak.reserved);
  CHECK(drawn.time.step == Approx(even.time.step));
}

TEST_CASE("Varying lengths request what the longest do and reserve more, which expandable segments avoid") {
  const StackPrediction even = predict({}), drawn = predict({.shortest = 16, .longest = 512});
  CHECK(drawn.peak.requested == even.peak.requested);
  CHECK(drawn.peak.reserved > even.peak.reserved);
  CHECK(drawn.time.step == Approx(even.time.step));
  REQUIRE(!drawn.assumptions.empty());
  CHECK(predict({.shortest = 16, .longest = 512}, true).peak.reserved < drawn.peak.reserved);
}

TEST_CASE("Sequences longer than any length are named, and so are images") {
  Recipe recipe;
  recipe.micro_batch = 1;
  recipe.sequence = 512;
  const StackSetup setup{.lengths = {.shortest = 1, .longest = 256}};
  const GpuEntry board = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4");
  const auto longer = predict_stack(*resolve_model(kModel), recipe, setup, board);
  REQUIRE(!longer);
  CHECK(longer.error().remedy == "add --seq 256");
  CHECK(!predict_stack(*resolve_model("resnet50"), recipe, setup, board));
}

TEST_CASE("Tables of rotary positions lie in every layer, sharded or not") {
  Recipe recipe;
  recipe.micro_batch = 1;
  recipe.sequence = 512;
  recipe.precision = Precision::kBf16;
  const GpuEntry board = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4");
  StackSetup setup{.attention = AttentionKernel::kFlash};
  const ModelSpec spec = *resolve_model(kModel);
  for (const int zero : {0, 3}) {
    setup.zero = zero;
    setup.data_ranks = zero == 0 ? 1 : 2;
    setup.rotary_tables = false;
    const auto without = predict_stack(spec, recipe, setup, board);
    setup.rotary_tables = true;
    const auto with = predict_stack(spec, recipe, setup, board);
    REQUIRE((without && with));
    CHECK((with->peak.requested - without->peak.requested).count == 2 * 2 * spec.layers * spec.max_positions * spec.head_dim);
  }
}

}  // namespace plimsoll
