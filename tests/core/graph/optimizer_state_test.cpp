#include "core/graph/optimizer_state.h"

#include <catch2/catch.hpp>

#include <map>

#include "core/graph/op_work.h"
#include "core/graph/update_work.h"
#include "tests/support/small_models.h"

using namespace plimsoll;

namespace {

std::vector<OptimizerKind> all_optimizers() {
  std::vector<OptimizerKind> all;
  for (int kind = 0; kind <= static_cast<int>(OptimizerKind::kMuon); ++kind) all.push_back(static_cast<OptimizerKind>(kind));
  return all;
}

/// One matrix of 100 × 60, one bias of 60.
ParameterGroup group() {
  return {.name = "tested",
          .tensors = {{.rows = 100, .columns = 60, .offset = 0, .decays = true},
                      {.rows = 1, .columns = 60, .offset = 6000, .decays = false}},
          .elements = 6060,
          .decaying_elements = 6000};
}

std::int64_t state_bytes(OptimizerKind kind, Precision precision = Precision::kFp32) {
  std::int64_t bytes = 0;
  for (const OptimizerState& state : optimizer_states({.precision = precision, .optimizer = kind}, group())) {
    bytes += state.bytes().count;
  }
  return bytes;
}

}  // namespace

TEST_CASE("every rule keeps the states that its formula names") {
  CHECK(state_bytes(OptimizerKind::kSgd) == 0);
  for (const OptimizerKind one : {OptimizerKind::kMomentum, OptimizerKind::kLars, OptimizerKind::kLion}) {
    CHECK(state_bytes(one) == 4 * 6060);
    CHECK(state_bytes(one, Precision::kFp64) == 8 * 6060);
    CHECK(state_bytes(one, Precision::kBf16Mixed) == 4 * 6060);
  }
  for (const OptimizerKind two : {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kLamb}) {
    CHECK(state_bytes(two) == 8 * 6060);
  }
  // Rows and columns of the matrix, elements of the bias: 100 + 60 + 60 numbers.
  for (const OptimizerKind factored : {OptimizerKind::kAdafactor, OptimizerKind::kSm3}) {
    CHECK(state_bytes(factored) == 4 * 220);
  }
  // Each moment: 6000 codes and 24 scales (6000 / 256 = 23.4) take 6096 bytes, which end at 6144, a multiple of 64; then the
  // bias, too small for codes, 60 numbers of four bytes.
  CHECK(state_bytes(OptimizerKind::kAdam8bit) == 2 * (6144 + 240));
}

TEST_CASE("the kernels of an update cover a group's weights, and each state, exactly once") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const ParameterGroup& of : lay_out_parameters(test::small_model(family, 2)).groups) {
      for (const OptimizerKind kind : all_optimizers()) {
        const Recipe recipe{.optimizer = kind};
        CAPTURE(to_text(kind), of.name);
        std::int64_t at = 0;
        std::map<TensorKind, std::int64_t> end;
        for (const UpdatePart& part : update_parts(recipe, of)) {
          CHECK(is_update(part.kind));
          CHECK(part.offset == at);
          at += part.elements;
          for (const StateRange& state : part.states) {
            const std::int64_t begin = state.offset * size_of(state.dtype);
            CHECK(begin >= end[state.kind]);
            CHECK(begin < end[state.kind] + 64);  // what is left between tensors is a part of a cache line
            end[state.kind] = begin + state.elements * size_of(state.dtype);
          }
        }
        CHECK(at == of.elements);
        for (const OptimizerState& state : optimizer_states(recipe, of)) CHECK(state.bytes() == Bytes(end[state.kind]));
      }
    }
  }
}

TEST_CASE("what lasts of a group is its weights, its master copy, and the states that its optimizer keeps") {
  const Recipe mixed{.precision = Precision::kBf16Mixed, .optimizer = OptimizerKind::kLion};
  CHECK(bytes_of_state(mixed, group(), TensorKind::kParameter) == Bytes(2 * 6060));
  CHECK(bytes_of_state(mixed, group(), TensorKind::kMaster) == Bytes(4 * 6060));
  CHECK(bytes_of_state(mixed, group(), TensorKind::kFirstMoment) == Bytes(4 * 6060));
  CHECK(bytes_of_state(mixed, group(), TensorKind::kSecondMoment) == Bytes(0));
}

TEST_CASE("an update moves its weights and states both ways and its gradient once, more often where a norm comes first") {
  // Words a weight in fp32: weights 2, gradient 1, and 2 for each moment.
  const OpShape of_group{.rows = 1000};
  CHECK(traffic_of(OpKind::kSgd, of_group, DType::kFp32) == Bytes(12'000));
  CHECK(traffic_of(OpKind::kMomentum, of_group, DType::kFp32) == Bytes(20'000));
  CHECK(traffic_of(OpKind::kAdam, of_group, DType::kFp32) == Bytes(28'000));
  CHECK(traffic_of(OpKind::kLion, of_group, DType::kFp32) == Bytes(20'000));
  // LAMB reads weights and both moments once more; LARS weights and gradients.
  const OpShape of_tensor{.rows = 20, .inputs = 50};
  CHECK(traffic_of(OpKind::kLamb, of_tensor, DType::kFp32) == Bytes(40'000));
  CHECK(traffic_of(OpKind::kLars, of_tensor, DType::kFp32) == Bytes(28'000));
  // 12 bytes a weight as SGD, and both moments' 1000 codes and 4 scales both ways.
  CHECK(traffic_of(OpKind::kAdam8bit, of_group, DType::kFp32) == Bytes(12'000 + 4 * 1016));
  for (const OpKind kind : {OpKind::kSgd, OpKind::kMomentum, OpKind::kAdam, OpKind::kLion, OpKind::kAdam8bit}) {
    CHECK(flops_of(kind, of_group) >= 4000);
  }
  for (const OpKind kind : {OpKind::kAdafactor, OpKind::kSm3, OpKind::kLamb, OpKind::kLars}) {
    CHECK(flops_of(kind, of_tensor) >= 4000);
  }
}

TEST_CASE("muon keeps a velocity of hidden matrices, and both of AdamW's moments of everything else") {
  const Recipe recipe{.optimizer = OptimizerKind::kMuon};
  const ParameterLayout layout = lay_out_parameters(test::small_model(Family::kGpt2, 2));
  const ParameterGroup& block = layout.at(layout.block(0));
  std::int64_t matrices = 0;
  for (const ParameterTensor& tensor : block.tensors) matrices += tensor.rows > 1 ? tensor.elements() : 0;
  CHECK(bytes_of_state(recipe, block, TensorKind::kFirstMoment) == Bytes(4 * block.elements));
  CHECK(bytes_of_state(recipe, block, TensorKind::kSecondMoment) == Bytes(4 * (block.elements - matrices)));
  Recipe narrow = recipe;
  narrow.precision = Precision::kBf16;
  CHECK(bytes_of_state(narrow, block, TensorKind::kFirstMoment) == Bytes(2 * block.elements));
  CHECK(bytes_of_state(narrow, block, TensorKind::kSecondMoment) == Bytes(2 * (block.elements - matrices)));
  const ParameterGroup& embedding = layout.at(layout.embedding());
  CHECK(bytes_of_state(recipe, embedding, TensorKind::kSecondMoment) == Bytes(4 * embedding.elements));
}

TEST_CASE("a quintic step of muon is three products over a matrix's shorter side, of each expert's matrix alone") {
  // 20 x 50: X Xᵀ is 2·20·20·50 = 40000, A² is 2·20³ = 16000, B X is 40000; five steps of 96000.
  const OpShape wide{.rows = 20, .inputs = 50};
  CHECK(newton_schulz_flops(wide) == 5 * 96'000);
  CHECK(newton_schulz_flops({.rows = 50, .inputs = 20}) == 5 * 96'000);
  CHECK(newton_schulz_flops({.rows = 4 * 20, .inputs = 50, .terms = 4}) == 4 * 5 * 96'000);
  CHECK(workspace_of(OpKind::kMuon, wide, DType::kFp32, 0) == Bytes(3 * 2 * 20 * 50));
  // Weights and velocity each way, the gradient, and in each of the steps four passes over the matrix in bf16; the states in two
  // bytes with the recipe's.
  CHECK(traffic_of(OpKind::kMuon, wide, DType::kFp32) == Bytes(1000 * (5 * 4 + 5 * 4 * 2)));
  CHECK(traffic_of(OpKind::kMuon, {.rows = 20, .inputs = 50, .variant = 1}, DType::kBf16) == Bytes(1000 * (5 * 2 + 5 * 4 * 2)));
}
