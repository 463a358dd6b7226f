#include "core/graph/logit_columns.h"

#include <catch2/catch.hpp>

#include "core/graph/graph.h"
#include "core/graph/logits_graph.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

/// A GPT-2 with a head tied to its words and 64 learnt positions.
ModelSpec of_words(std::int64_t vocabulary) {
  ModelSpec spec = small_model(Family::kGpt2, 1);
  spec.vocabulary = vocabulary;
  spec.max_positions = 64;
  return spec;
}

}  // namespace

TEST_CASE("rows of logits are whole 16 bytes of two-byte numbers where a thousandth is enough for that") {
  CHECK(logit_columns(of_words(50257)) == 50264);  // 6,283 · 8
  CHECK(logit_columns(of_words(50304)) == 50304);
  CHECK(logit_columns(of_words(7001)) == 7008);    // 7 of 7,001
  CHECK(logit_columns(of_words(6993)) == 6993);    // 7 of 6,993 are more than a thousandth
  CHECK(logit_columns(of_words(2007)) == 2008);
}

TEST_CASE("only a head without a bias has them whose weight is followed by rows of as many positions") {
  ModelSpec untied = of_words(50257), biased = untied, few = untied, rotary = untied;
  untied.tied_head = false;
  biased.head_bias = true;
  few.max_positions = 6;
  rotary.positions = PositionKind::kRope;
  for (const ModelSpec& spec : {untied, biased, few, rotary}) CHECK(logit_columns(spec) == 50257);
}

TEST_CASE("products of such a head go over as many rows of the weight and of its gradient and its sums") {
  for (const std::int64_t accumulate : {1, 2}) {
    const ModelSpec spec = of_words(7001);
    const Graph graph = build_training_graph(spec, {.micro_batch = 1, .accumulate = accumulate, .sequence = 16});
    for (const Op& op : graph.ops) {
      if (op.kind == OpKind::kCrossEntropy) {
        CHECK(op.shape.outputs == 7001);
        CHECK(op.shape.stride == 7008);
        CHECK(graph.at(op.operands[0].tensor).elements == 16 * 7008);
      }
      if (op.block >= 0 || op.shape.outputs != 7008) continue;
      const std::size_t weight = op.kind == OpKind::kLinearBackwardWeight ? 2 : 1;
      CHECK(graph.at(op.operands[weight].tensor).elements == 7008 * spec.hidden);
    }
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.name == "accumulator of the tied head") CHECK(tensor.elements == 7008 * spec.hidden);
    }
  }
  const Graph logits = build_logits_graph(of_words(7001), {.sequence = 4}, 1);
  CHECK(logits.at(logits.ops.back().operands.back().tensor).elements == 4 * 7008);
}

}  // namespace plimsoll::test
