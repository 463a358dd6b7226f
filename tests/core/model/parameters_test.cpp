#include "core/model/parameters.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

ModelSpec gpt2_small() {
  ModelSpec spec = family_defaults(Family::kGpt2);
  spec.name = "gpt2";
  spec.layers = 12;
  spec.hidden = 768;
  spec.heads = spec.kv_heads = 12;
  spec.head_dim = 64;
  spec.ffn = 3072;
  spec.vocabulary = 50257;
  spec.max_positions = 1024;
  return spec;
}

}  // namespace

TEST_CASE("parameter_count of GPT-2 small is the published 124,439,808") {
  // 50257·768 + 1024·768 + 12·(2·1536 + 768·2304+2304 + 768·768+768 + 768·3072+3072 + 3072·768+768) + 1536
  CHECK(parameter_count(gpt2_small()) == 124'439'808);
}

TEST_CASE("tensors of a group tile it without holes, those that decay first") {
  for (const ParameterGroup& group : lay_out_parameters(gpt2_small()).groups) {
    std::int64_t next = 0;
    bool decays = true;
    std::int64_t decaying = 0;
    for (const ParameterTensor& tensor : group.tensors) {
      CHECK(tensor.offset == next);
      next += tensor.elements();
      CHECK((decays || !tensor.decays));
      decays = tensor.decays;
      if (tensor.decays) decaying += tensor.elements();
    }
    CHECK(next == group.elements);
    CHECK(decaying == group.decaying_elements);
  }
}

TEST_CASE("query and key norms add two heads' width a block, a parallel block has one norm less, a head's bias a vocabulary") {
  ModelSpec spec = gpt2_small();
  const std::int64_t before = parameter_count(spec);
  spec.norm = NormKind::kRmsNorm;  // 25 norms without biases: 25·768 = 19200 fewer
  spec.qk_norm = true;             // 12·2·64 = 1536 more
  CHECK(parameter_count(spec) - before == 1536 - 19200);
  spec = gpt2_small();
  spec.parallel_block = true;  // 12·2·768 = 18432 fewer
  spec.head_bias = true;
  CHECK(parameter_count(spec) - before == 50257 - 18432);
}

TEST_CASE("an untied head adds its matrix to the head group and nothing else") {
  ModelSpec untied = gpt2_small();
  untied.tied_head = false;
  CHECK(parameter_count(untied) - parameter_count(gpt2_small()) == 50257 * 768);
}
