#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

#include "core/graph/op_work.h"
#include "core/inference/inference_graph.h"
#include "core/inference/kv_cache.h"
#include "core/inference/live_bytes.h"

using namespace plimsoll;

namespace {

ModelSpec small_decoder() {
  ModelSpec spec = family_defaults(Family::kLlama);
  spec.name = "small";
  spec.layers = 3;
  spec.hidden = 32;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 8;
  spec.ffn = 64;
  spec.vocabulary = 100;
  spec.max_positions = 64;
  return spec;
}

double flops(const Graph& graph, OpKind kind) {
  return std::accumulate(graph.ops.begin(), graph.ops.end(), 0.0,
                         [&](double sum, const Op& op) { return sum + (op.kind == kind ? flops_of(op.kind, op.shape) : 0); });
}

Bytes traffic(const Graph& graph, OpKind kind) {
  Bytes sum;
  for (const Op& op : graph.ops) sum += op.kind == kind ? traffic_of(op.kind, op.shape, op.dtype) : Bytes(0);
  return sum;
}

/// 2 heads with keys of 8 + 4 and values of 6 numbers from a vector of 10, queries from one of 16; blocks 1 and 2 with
/// one of 4 experts of 24 and one of 48 for all tokens.
ModelSpec small_latent() {
  ModelSpec spec = small_decoder();
  spec.family = Family::kDeepSeek;
  spec.heads = spec.kv_heads = 2;
  spec.head_dim = 12;
  spec.latent = {.q_rank = 16, .kv_rank = 10, .plain_dim = 8, .rope_dim = 4, .value_dim = 6};
  spec.experts.count = 4;
  spec.experts.per_token = 1;
  spec.experts.width = 24;
  spec.experts.shared_width = 48;
  spec.experts.dense_first = 1;
  return spec;
}

}  // namespace

TEST_CASE("latent attention keeps a narrow vector and a rotated key a token, and widens it in a prompt's pass alone") {
  const ModelSpec spec = small_latent();
  CHECK(kv_bytes_per_token(spec, DType::kFp16) == Bytes(3 * (10 + 4) * 2));
  // Of a block: 32·16 + 16·24 to queries, 32·14 to the vector, 10·2·(8+6) to keys and values, 2·6·32 back: 2008
  // weights. Block 0: gate and up 2·32·64, down 64·32: 6144. Others: the expert of all tokens, 3·32·48 = 4608. Head:
  // 3200.
  const double weights = 3 * 2008 + 6144 + 2 * 4608;
  const Graph prompt = build_inference_graph(spec, {.sequences = 2, .new_tokens = 10});
  CHECK(flops(prompt, OpKind::kLinear) == 2.0 * 20 * weights + 2.0 * 2 * 3200);
  // 5.5 keys of 12 numbers and values of 6 in the mean, of 2 heads in 3 blocks.
  CHECK(flops(prompt, OpKind::kAttention) == 3 * 2.0 * 20 * 5.5 * 2 * (12 + 6));
  const Graph step = build_inference_graph(spec, {.sequences = 2, .new_tokens = 1, .cached = 30});
  CHECK(flops(step, OpKind::kLinear) == 2.0 * 2 * (weights + 3200));
  // 31 narrow keys of 14 numbers and values of 10, of 2 heads, in 3 blocks: 3 · 2 · 2 · 31 · 2 · 24; in heads as wide
  // as half a key 4 · 7 numbers for 24 · 2 / 14 = 3.43 heads, which are 4.
  CHECK(flops(step, OpKind::kAttention) == 3 * 2 * 2.0 * 2 * 31 * 4 * 7);
  CHECK(traffic(step, OpKind::kAttention) >= kv_cache_bytes(spec, 2, 31, DType::kFp16));
  CHECK(traffic(step, OpKind::kAttention) < 2 * kv_cache_bytes(spec, 2, 31, DType::kFp16));
}

TEST_CASE(
    "a token's keys and values take 2 x layers x kv_heads x head_dim x bytes, and a window bounds how many tokens are kept") {
  ModelSpec spec = small_decoder();
  CHECK(kv_bytes_per_token(spec, DType::kFp16) == Bytes(2 * 3 * 2 * 8 * 2));
  CHECK(kv_cache_bytes(spec, 5, 20, DType::kFp16) == Bytes(5 * 20 * 192));
  spec.window = 16;
  CHECK(kv_cache_bytes(spec, 5, 20, DType::kFp16) == Bytes(5 * 16 * 192));
  CHECK(kv_cache_bytes(spec, 5, 10, DType::kFp16) == Bytes(5 * 10 * 192));
}

TEST_CASE("where only every n-th block sees all tokens, the others' windows bound what they keep") {
  ModelSpec spec = small_decoder();
  spec.window = 16;
  spec.full_every =
      3;  // blocks 0 and 1 keep 16 of 20 tokens, block 2 keeps all; 2 · 2 heads of 8 in fp16 are 64 bytes a token
  CHECK(kv_cache_bytes(spec, 5, 20, DType::kFp16) == Bytes(5 * (16 + 16 + 20) * 64));
  CHECK(most_cached_tokens(spec, 20) == 20);
}

TEST_CASE("codes of 4 bits in groups of 64 take 36 bytes a group: half a byte a number, a scale and a least value") {
  const GroupCode code{.bits = 4};
  CHECK(code.bytes_of(64, DType::kFp16) == Bytes(36));
  CHECK(code.bytes_of(65, DType::kFp16) == Bytes(72));
  CHECK(GroupCode{.bits = 8}.bytes_of(128, DType::kFp16) == Bytes(2 * 68));
  CHECK(GroupCode{}.bytes_of(65, DType::kFp16) == Bytes(130));
  CHECK_FALSE(group_code_of_bits(5, "--cache-bits"));
}

TEST_CASE("a prompt's pass costs two operations a weight of the blocks and token, and the head only for last tokens") {
  // Weights of a block: qkv 32·(4+2·2)·8 = 2048, projection 32·32 = 1024, gate and up 2·32·64 = 4096, down 64·32 = 2048: 9216.
  // 2 sequences of 10 tokens: 20 rows in 3 blocks, 2 rows of the head of 32·100.
  const Graph graph = build_inference_graph(small_decoder(), {.sequences = 2, .new_tokens = 10});
  CHECK(flops(graph, OpKind::kLinear) == 2.0 * 20 * 3 * 9216 + 2.0 * 2 * 3200);
  // Each query sees 5.5 keys in the mean: 2 products of 2·20·5.5·32 in 3 blocks.
  CHECK(flops(graph, OpKind::kAttention) == 3 * 2 * 2.0 * 20 * 5.5 * 32);
}

TEST_CASE("a decoding step reads all weights and the whole cache once") {
  const ModelSpec spec = small_decoder();
  const Graph graph = build_inference_graph(spec, {.sequences = 2, .new_tokens = 1, .cached = 30});
  CHECK(flops(graph, OpKind::kLinear) == 2.0 * 2 * (3 * 9216 + 3200));
  // A query sees 31 keys: 2 products of 2·2·31·32 in 3 blocks.
  CHECK(flops(graph, OpKind::kAttention) == 3 * 2 * 2.0 * 2 * 31 * 32);
  CHECK(traffic(graph, OpKind::kAttention) >= kv_cache_bytes(spec, 2, 31, DType::kFp16));
  CHECK(traffic(graph, OpKind::kLinear) >= Bytes(2 * (3 * 9216 + 3200)));
}

TEST_CASE("a prefill and the steps behind it add up to the prefill of all tokens") {
  // Attention's work in queries and keys: 1 + … + 12 = (1 + … + 9) + 10 + 11 + 12.
  const ModelSpec spec = small_decoder();
  const auto attention = [&](std::int64_t fresh, std::int64_t cached) {
    return flops(build_inference_graph(spec, {.sequences = 1, .new_tokens = fresh, .cached = cached}), OpKind::kAttention);
  };
  CHECK(attention(12, 0) == attention(9, 0) + attention(1, 9) + attention(1, 10) + attention(1, 11));
}

TEST_CASE("with a window no query sees more keys than it holds") {
  ModelSpec spec = small_decoder();
  spec.window = 4;
  const auto attention = [&](std::int64_t fresh, std::int64_t cached) {
    return flops(build_inference_graph(spec, {.sequences = 1, .new_tokens = fresh, .cached = cached}), OpKind::kAttention);
  };
  CHECK(attention(1, 3) == 3 * 2 * 2.0 * 4 * 32);
  CHECK(attention(1, 30) == attention(1, 3));
  // 1 + 2 + 3 + 4 + 4 + 4 keys of six queries.
  CHECK(attention(6, 0) == Approx(3 * 2 * 2.0 * 18 * 32));
}

TEST_CASE("what a pass holds at once grows with its rows and not with the number of blocks") {
  ModelSpec spec = small_decoder();
  const Bytes three = peak_live_bytes(build_inference_graph(spec, {.sequences = 2, .new_tokens = 32}));
  spec.layers = 1;
  CHECK(peak_live_bytes(build_inference_graph(spec, {.sequences = 2, .new_tokens = 32})) == three);
  CHECK(peak_live_bytes(build_inference_graph(spec, {.sequences = 4, .new_tokens = 32})) == 2 * three);
}

TEST_CASE("models that write no next token are refused by name") {
  ModelSpec encoder = family_defaults(Family::kBert);
  encoder.name = "some encoder";
  const auto refused = check_writes_tokens(encoder);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("some encoder is an encoder") != std::string::npos);
  CHECK(check_writes_tokens(small_decoder()));
}
