#include "sim/stack/tape/column_sums.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kA100 = 108;

Bytes buffer(std::int64_t rows, std::int64_t columns) { return column_sum_buffer(rows, columns, sum_blocks_of(kA100, "8.0")); }

Bytes need(const OperatorCase& asked) {
  const auto bytes = predict_operator(asked);
  REQUIRE(bytes);
  return *bytes;
}

}  // namespace

TEST_CASE("a sum of columns shares its rows out until all multiprocessors are busy or threads have sixteen values") {
  // Blocks of 32 × 4 threads with 4 columns each: 2048 ÷ 4 = 512 values a thread, 108 · 2048 ÷ 128 = 1728 blocks at once.
  // 4096 ÷ (4 · 32) = 32 blocks wide: 1728 ÷ 32 = 54, but 512 ÷ 16 = 32 parts are the most. 4 bytes · 4096 · 32 · 128.
  CHECK(buffer(2048, 4096) == 64 * kMiB);
  // 8192 ÷ 128 = 64 wide: 1728 ÷ 64 = 27 parts. 4 · 8192 · 27 · 128.
  CHECK(buffer(2048, 8192) == 108 * kMiB);
  // 256 wide: 6.75, so 7 parts. 4 · 32768 · 7 · 128.
  CHECK(buffer(2048, 32768) == 112 * kMiB);
  // 30 · 1536 ÷ 128 = 360 blocks at once, 4 wide: 90, but 1024 ÷ 16 = 64 parts. 4 · 512 · 64 · 128.
  CHECK(column_sum_buffer(4096, 512, sum_blocks_of(30, "8.6")) == 16 * kMiB);
}

TEST_CASE("a sum of few rows, of more columns than blocks at once, or on nothing known takes no buffer") {
  CHECK(buffer(1020, 4096) == Bytes(0));      // 255 values a thread
  CHECK(buffer(2048, 1 << 20) == Bytes(0));   // 8192 blocks wide
  CHECK(buffer(0, 4096) == Bytes(0));
  CHECK(column_sum_buffer(2048, 4096, {}) == Bytes(0));
}

TEST_CASE("threads that live on a multiprocessor follow the compute capability") {
  CHECK(sum_blocks_of(1, "7.5").threads == 1024);
  CHECK(sum_blocks_of(1, "8.9").threads == 1536);
  CHECK(sum_blocks_of(1, "12.0").threads == 1536);
  CHECK(sum_blocks_of(1, "9.0").threads == 2048);
}

TEST_CASE("a bias's gradient is summed with that buffer, and a tape that knows no GPU sums without") {
  for (const std::int64_t processors : {std::int64_t{0}, kA100}) {
    Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0), .sum_blocks = sum_blocks_of(processors, "8.0")});
    Parameter& weight = tape.parameter("weight", {4096, 64}, DType::kFp32);
    Parameter& bias = tape.parameter("bias", {4096}, DType::kFp32);
    const Tensor y = linear(tape, tape.empty({2048, 64}, DType::kFp32), {.weight = &weight, .bias = &bias});
    tape.backward(y, tape.empty(y.shape, y.dtype));
    Bytes largest;
    for (const StorageEvent& event : tape.log().events()) {
      if (event.holding == Holding::kWorkspace) largest = std::max(largest, event.bytes);
    }
    CHECK(largest == (processors == 0 ? Bytes(0) : 64 * kMiB));
  }
}

TEST_CASE("an older norm's kernel writes a gradient of the weight a row and lets PyTorch sum them") {
  OperatorCase asked{.kernel = "rms_norm",
                     .provider = "liger",
                     .sizes = {{"M", 2048}, {"H", 4096}},
                     .dtype = DType::kBf16,
                     .version = 201};
  // 2048 · 4096 · 2 = 16 MiB: x, the result, its gradient (the input's takes its place), twice that for fp32 rows of the
  // weight's gradient, and the sum's buffer of 64 MiB: 144 MiB and vectors.
  CHECK(need(asked) > 144 * kMiB);
  CHECK(need(asked) < 145 * kMiB);
  asked.version = 700;
  CHECK(need(asked) < 83 * kMiB);  // five tensors of 16 MiB and 108 rows of fp32
}

TEST_CASE("compiled embeddings that were measured before stay with their gradients") {
  OperatorCase asked{.kernel = "embedding", .provider = "torch_compile", .sizes = {{"B", 8}, {"T", 64}, {"V", 4096}, {"D", 256}}};
  const Bytes alone = need(asked);
  asked.sizes["kept_from"] = 1024;
  // Tables of 1024 and 2048 rows of 256 · 4 bytes, twice.
  CHECK(need(asked) == alone + Bytes(2 * (1024 + 2048) * 256 * 4));
}

TEST_CASE("logits in two bytes halve what a loss of pairs takes beside its head") {
  OperatorCase asked{.kernel = "fused_linear_orpo_loss",
                     .provider = "huggingface",
                     .sizes = {{"B", 2}, {"T", 2048}, {"H", 64}, {"V", 32768}},
                     .dtype = DType::kBf16};
  // Logits of 4096 · 32768 · 2 bytes: 256 MiB a unit; in fp32 seven of them, in bf16 half.
  const Bytes wide = need(asked);
  asked.sizes["half_logits"] = 1;
  CHECK((wide - need(asked)).count / kMiB.count == 7 * 256 / 2);
}

}  // namespace plimsoll
