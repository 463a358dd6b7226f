#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/stack/operators/operator_programs.h"

namespace plimsoll {
namespace {

Bytes need(const OperatorCase& asked) {
  const auto bytes = predict_operator(asked);
  REQUIRE(bytes);
  return *bytes;
}

OperatorCase feed_forward(std::string kernel, std::string provider, std::int64_t shards,
                          OperatorMode mode = OperatorMode::kFull) {
  return {.kernel = std::move(kernel),
          .provider = std::move(provider),
          .mode = mode,
          .sizes = {{"T", 4096}, {"bsz", 2}, {"hidden_size", 512}, {"intermediate_size", 2048}, {"num_shards", shards}},
          .dtype = DType::kBf16};
}

}  // namespace

TEST_CASE("cross-entropy in fp32 holds logits, their gradient twice, log-probabilities and a sparse gradient") {
  // 2 · 256 rows of 1024: 2 MiB each; targets 512 · 8 bytes, then the loss and its gradient in 512 each: the likelihood's weight is let go
  // when the softmax's gradient is begun.
  const OperatorCase asked{
      .kernel = "cross_entropy", .provider = "huggingface", .sizes = {{"B", 2}, {"T", 256}, {"V", 1024}}};
  CHECK(need(asked) == 5 * 2 * kMiB + Bytes(512 * 8 + 2 * 512));
}

TEST_CASE("a kernel that writes the gradient into the logits' place holds one tensor of their size") {
  const OperatorCase asked{
      .kernel = "cross_entropy", .provider = "liger", .sizes = {{"B", 2}, {"T", 256}, {"V", 1024}}};
  const Bytes bytes = need(asked);
  CHECK(bytes >= 2 * kMiB);
  CHECK(bytes < 2 * kMiB + Bytes(16 * 1024));
}

TEST_CASE("softmax's backward multiplies gradient and result first; one kernel does not") {
  OperatorCase asked{.kernel = "softmax", .provider = "torch", .sizes = {{"M", 8}, {"N", 4096}}};
  // 4096 · 4 bytes each: x, its gradient twice, the result and its gradient, their product.
  CHECK(need(asked) == Bytes(6 * 4096 * 4));
  asked.provider = "liger";
  CHECK(need(asked) == Bytes(5 * 4096 * 4));
}

TEST_CASE("a feed-forward layer's forward holds its input, four inner tensors, its output and three weights") {
  // Tokens 8192 · 512 · 2 bytes = 8 MiB, inner 8192 · 2048 · 2 = 32 MiB, weights 2 MiB each, two workspaces of 8.125
  // MiB.
  const Bytes bytes = need(feed_forward("tiled_swiglu", "huggingface", 4, OperatorMode::kForward));
  CHECK(bytes == (2 * 8 + 4 * 32 + 3 * 2 + 16) * kMiB + Bytes(kMiB.count / 4));
}

TEST_CASE("more tiles of a layer never need more, and less than the whole layer") {
  Bytes before = need(feed_forward("tiled_swiglu", "huggingface", 4));
  for (const std::int64_t tiles : {2, 4, 8, 16}) {
    const Bytes bytes = need(feed_forward("tiled_swiglu", "deepspeed_tiled", tiles));
    CHECK(bytes <= before);
    before = bytes;
  }
}

TEST_CASE("forward alone never needs more than forward and backward") {
  for (const OperatorProgram& program : operator_programs()) {
    OperatorCase asked{
        .kernel = std::string(program.kernel), .provider = std::string(program.provider), .dtype = DType::kBf16};
    asked.sizes = {{"B", 2},
                   {"T", 64},
                   {"V", 1024},
                   {"H", 256},
                   {"BT", 128},
                   {"M", 64},
                   {"N", 256},
                   {"C", 8},
                   {"channels_per_group", 4},
                   {"bsz", 2},
                   {"hidden_size", 256},
                   {"intermediate_size", 512},
                   {"num_shards", 4},
                   {"E", 4},
                   {"K", 2},
                   {"intermediate_dim", 64},
                   {"batch_size", 2},
                   {"seq_len", 64},
                   {"num_heads", 4},
                   {"L", 64},
                   {"C_in", 4},
                   {"C_out", 4},
                   {"D", 64},
                   {"vocab_size", 1024},
                   {"num_q_heads", 8},
                   {"num_kv_heads", 4},
                   {"S", 64},
                   {"ffn_local", 256}};
    INFO(program.kernel << " " << program.provider);
    const Bytes full = need(asked);
    asked.mode = OperatorMode::kForward;
    CHECK(need(asked) <= full);
  }
}

TEST_CASE("an unknown operator, an unknown provider and a size that is not there are refused by name") {
  CHECK(predict_operator({.kernel = "matmul", .provider = "torch"}).error().what == "unknown operator: matmul");
  CHECK(predict_operator({.kernel = "softmax", .provider = "jax"}).error().what == "unknown provider: jax");
  CHECK(predict_operator({.kernel = "softmax", .provider = "torch"}).error().what == "size not stated: N");
  const OperatorCase huge{.kernel = "softmax", .provider = "torch", .sizes = {{"N", 5000000000000000000}}};
  CHECK(predict_operator(huge).error().what == "sizes too large");
}

}  // namespace plimsoll
