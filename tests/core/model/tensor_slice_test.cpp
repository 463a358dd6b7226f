#include "core/model/tensor_slice.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

namespace plimsoll {
namespace {

/// One block of width 4: four heads of 2, eight columns between the two layers of its feed-forward part.
ModelSpec small(Family family) {
  ModelSpec spec = family_defaults(family);
  spec.name = "small";
  spec.layers = 1;
  spec.hidden = 4;
  spec.heads = 4;
  spec.kv_heads = family == Family::kLlama ? 2 : 4;
  spec.head_dim = 2;
  spec.ffn = 8;
  spec.vocabulary = 16;
  spec.max_positions = 8;
  return spec;
}

/// From where in the whole tensor the elements of a slice's tensor come.
std::vector<std::int64_t> sources(const ModelSpec& spec, ParameterRole role, const TensorShare& share) {
  const GroupId block(1);
  const ParameterTensor whole = *lay_out_parameters(spec).at(block).find(role);
  const ParameterTensor own = *lay_out_parameters(slice_of_model(spec, share.count)).at(block).find(role);
  std::map<std::int64_t, std::int64_t> by_place;
  for (const ElementRun& run : runs_of_slice(spec, block, share)) {
    for (std::int64_t i = 0; i < run.count; ++i) by_place[run.own + i] = run.whole + i;
  }
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < own.elements(); ++i) found.push_back(by_place.at(own.offset + i) - whole.offset);
  return found;
}

}  // namespace

TEST_CASE("a slice has its heads' rows of queries, keys and values, and columns of what joins them") {
  const ModelSpec spec = small(Family::kGpt2);
  // 4 heads of 2: rows of queries 0 to 7, keys 8 to 15, values 16 to 23. Heads 2 and 3: rows 4 to 7, 12 to 15 and 20 to 23.
  const std::vector<std::int64_t> rows{4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23};
  CHECK(sources(spec, ParameterRole::kQkvBias, {1, 2}) == rows);
  std::vector<std::int64_t> elements;
  for (const std::int64_t row : rows) {
    for (std::int64_t column = 0; column < 4; ++column) elements.push_back(4 * row + column);
  }
  CHECK(sources(spec, ParameterRole::kQkvWeight, {1, 2}) == elements);
  // The projection reads 8 numbers of all heads: columns 4 to 7 of each of its 4 rows.
  CHECK(sources(spec, ParameterRole::kProjectionWeight, {1, 2}) ==
        std::vector<std::int64_t>{4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31});
  CHECK(sources(spec, ParameterRole::kProjectionBias, {1, 2}) == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("fewer key-value heads and a gate are divided each for itself") {
  const ModelSpec spec = small(Family::kLlama);
  // Rows: 8 of queries, 4 of keys, 4 of values. The second of two has 4, 2 and 2 of them: 4 to 7, 10 and 11, 14 and 15.
  const auto qkv = sources(spec, ParameterRole::kQkvWeight, {1, 2});
  REQUIRE(qkv.size() == 8 * 4);
  CHECK(qkv[0] == 4 * 4);
  CHECK(qkv[4 * 4] == 10 * 4);
  CHECK(qkv[6 * 4] == 14 * 4);
  // 8 rows of the gate, 8 of what it gates: 4 to 7 and 12 to 15.
  const auto in = sources(spec, ParameterRole::kFfnInWeight, {1, 2});
  REQUIRE(in.size() == 8 * 4);
  CHECK(in[0] == 4 * 4);
  CHECK(in[4 * 4] == 12 * 4);
}

TEST_CASE("every expert is divided for itself") {
  ModelSpec spec = small(Family::kGpt2);
  spec.experts.count = 3;
  spec.experts.per_token = 1;
  spec.experts.width = 4;
  // Three experts of 4 columns each: rows 4e + 2 and 4e + 3 of the first layers, columns 2 and 3 of each of the 3 · 4 rows of the
  // second ones; routers and the second layers' biases are whole.
  CHECK(sources(spec, ParameterRole::kExpertInBias, {1, 2}) == std::vector<std::int64_t>{2, 3, 6, 7, 10, 11});
  const auto out = sources(spec, ParameterRole::kExpertOutWeight, {1, 2});
  REQUIRE(out.size() == 3 * 4 * 2);
  CHECK(std::vector(out.begin(), out.begin() + 4) == std::vector<std::int64_t>{2, 3, 6, 7});
  CHECK(sources(spec, ParameterRole::kExpertOutBias, {1, 2}).size() == 3 * 4);
  CHECK(sources(spec, ParameterRole::kRouterWeight, {1, 2}).size() == 3 * 4);
}

TEST_CASE("slices together have every element of a block, and those of what is cut once") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const ModelSpec spec = small(family);
    const ParameterGroup whole = lay_out_parameters(spec).at(GroupId(1));
    std::vector<int> times(static_cast<std::size_t>(whole.elements), 0);
    for (std::uint32_t index = 0; index < 2; ++index) {
      std::int64_t own = 0;
      for (const ElementRun& run : runs_of_slice(spec, GroupId(1), {index, 2})) {
        CHECK(run.own == own);  // in the slice's order, without a gap
        own += run.count;
        for (std::int64_t i = 0; i < run.count; ++i) ++times[static_cast<std::size_t>(run.whole + i)];
      }
      CHECK(own == lay_out_parameters(slice_of_model(spec, 2)).at(GroupId(1)).elements);
    }
    for (const ParameterTensor& tensor : whole.tensors) {
      const int wanted = cut_of(tensor.role) == TensorCut::kNone ? 2 : 1;
      const auto first = times.begin() + tensor.offset;
      CHECK(std::count(first, first + tensor.elements(), wanted) == tensor.elements());
    }
  }
}

TEST_CASE("what a slice has alone are its matrices and the biases of what is cut by outputs") {
  // hidden 4, half of 4 heads of 2 (12 rows of q, k, v), half of 8 columns: matrices 12·4 + 4·4 + 4·4 + 4·4 = 96 elements
  // come first, then norm 1 (4 + 4), the bias of q, k, v (12), the projection's (4), norm 2 (4 + 4), the first layer's (4).
  const ParameterGroup slice = lay_out_parameters(slice_of_model(small(Family::kGpt2), 2)).at(GroupId(1));
  CHECK(own_runs_of_slice(slice) == std::vector<ElementRun>{{0, 0, 96}, {104, 104, 12}, {128, 128, 4}});
  CHECK(own_runs_of_slice(lay_out_parameters(small(Family::kGpt2)).at(GroupId(0))).empty());
}

}  // namespace plimsoll
