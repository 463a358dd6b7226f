#include <catch2/catch.hpp>

#include "sim/stack/tape/operations.h"
#include "tests/sim/stack/asked_stack.h"

namespace plimsoll {
namespace {

StackKernel attention_of(std::int64_t sequence, double document, std::int64_t window = 0) {
  Tape tape;
  const Tensor x = tape.empty({2, 4, sequence, 64}, DType::kBf16);
  fused_attention(tape, x, x, x, {.heads = 4, .sequence = sequence, .keys = sequence, .head_dim = 64, .window = window, .document = document});
  return tape.kernels().front();
}

Result<StackPrediction> predicted(double document, AttentionKernel kernel = AttentionKernel::kFlash) {
  StackSetup setup;
  setup.attention = kernel;
  setup.document_tokens = document;
  return asked_of_stack("llama-3.2-1b", setup, 8192, "A100 80GB SXM4");
}

}  // namespace

TEST_CASE("An average token stands in a document of the mean of squares over the mean") {
  CHECK(length_around_a_token({.seen = {100, 300}}) == Approx((100.0 * 100 + 300.0 * 300) / 400));  // 250
  CHECK(length_around_a_token({.shortest = 1, .longest = 3}) == Approx(14.0 / 6));                  // 1 + 4 + 9 over 1 + 2 + 3
  CHECK(length_around_a_token({.shortest = 3, .longest = 4}) == Approx(25.0 / 7));                  // 9 + 16 over 3 + 4
  CHECK(length_around_a_token({.shortest = 1, .longest = std::int64_t{1} << 30}) == Approx((std::int64_t{1} << 31) / 3.0));
  CHECK(length_around_a_token({}) == 0);
}

TEST_CASE("Attention that ends with packed documents computes their pairs, as short sequences do") {
  // 2 sequences of 4 heads and 1024 tokens, each seeing half of 256: 4 · 2 · 4 · 1024 · 128 · 64 FLOP, a quarter of the whole's.
  const StackKernel packed = attention_of(1024, 256), whole = attention_of(1024, 0);
  CHECK(packed.flops == Approx(4.0 * 2 * 4 * 1024 * 128 * 64));
  CHECK(packed.flops == Approx(whole.flops / 4));
  CHECK(packed.m == 256);
  CHECK(packed.batch == 4 * whole.batch);
  CHECK(packed.bytes == whole.bytes);
  CHECK(attention_of(1024, 4096).flops == whole.flops);  // longer documents are cut
  // Of 256 tokens the first 64 see 32 in the mean, the others 64: 64 · (256 - 32) pairs in each of four documents.
  CHECK(attention_of(1024, 256, 64).flops == Approx(4.0 * 2 * 4 * 4 * 64 * 224 * 64));
}

TEST_CASE("Packed documents take the memory of the whole sequence and less of its time") {
  const auto packed = predicted(512), whole = predicted(0);
  REQUIRE(packed);
  REQUIRE(whole);
  CHECK(packed->peak.allocated == whole->peak.allocated);
  CHECK(packed->time.step < 0.97 * whole->time.step);
  CHECK_FALSE(predicted(512, AttentionKernel::kEfficient));
}

}  // namespace plimsoll
