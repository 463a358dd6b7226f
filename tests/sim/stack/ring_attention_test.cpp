#include "sim/stack/modules/ring_attention.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/replay_log.h"
#include "tests/sim/stack/asked_stack.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestTable{std::int64_t{1} << 20};

struct RingCase {
  std::int64_t ranks = 0, heads = 0, kv_heads = 0, head_dim = 0, tokens = 0, forward = 0, backward = 0;
};

std::vector<RingCase> tracked_cases() {
  const std::string path = PLIMSOLL_RING_PEAKS;
  const auto table = read_csv(*read_text_file(path, kLargestTable), path);
  REQUIRE(table);
  std::vector<RingCase> cases;
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const auto whole = [&](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
    cases.push_back({whole("ranks"), whole("heads"), whole("kv_heads"), whole("head_dim"), whole("tokens"), whole("forward_bytes"), whole("backward_bytes")});
    REQUIRE_FALSE(row.error());
  }
  REQUIRE(cases.size() == 6);
  return cases;
}

/// Of [1, heads, tokens, head_dim] in bf16, which lie token by token as projections make them.
Tensor projected(Tape& tape, std::int64_t heads, const RingCase& one) {
  Tensor x = tape.empty({1, heads, one.tokens, one.head_dim}, DType::kBf16);
  x.order = {0, 2, 1, 3};
  x.maker = std::make_shared<Node>();
  return x;
}

std::int64_t highest(const Tape& tape) { return replay_log(tape.log(), {}).requested.count; }

struct RingPeaks {
  std::int64_t forward = 0, backward = 0;
};

RingPeaks peaks_of(const RingCase& one) {
  RingPeaks peaks;
  for (const bool backward : {false, true}) {
    Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
    const AttentionHeads heads{.q = projected(tape, one.heads, one), .k = projected(tape, one.kv_heads, one), .v = projected(tape, one.kv_heads, one)};
    const std::int64_t inputs = heads.q.bytes().count + heads.k.bytes().count + heads.v.bytes().count;
    const Tensor out = ring_attention(tape, heads, {.heads = one.heads, .sequence = one.tokens, .keys = one.tokens, .head_dim = one.head_dim}, one.ranks);
    if (!backward) {
      peaks.forward = highest(tape) - inputs;
      continue;
    }
    tape.backward(out, tape.empty(out.shape, out.dtype));
    // The tracker counts from where the result, its sums and its gradient are there.
    const std::int64_t sums = one.heads * one.tokens * size_of(DType::kFp32);
    peaks.backward = highest(tape) - inputs - 2 * out.bytes().count - sums;
  }
  return peaks;
}

StackSetup fsdp(std::int64_t data_ranks, std::int64_t context_ranks) {
  StackSetup setup{.modules = ModuleStyle::kTorchTune, .recomputation = Recomputation::kFull, .data_ranks = data_ranks, .zero = 3};
  setup.context_ranks = context_ranks;
  return setup;
}

}  // namespace

TEST_CASE("Ring attention holds at its peak what PyTorch's context_parallel holds") {
  for (const RingCase& one : tracked_cases()) {
    INFO(one.ranks << " ranks, " << one.kv_heads << " key heads");
    const RingPeaks told = peaks_of(one);
    // The sums that blocks join are counted once here, and up to three times there: a hundredth of q's bytes each.
    CHECK(static_cast<double>(told.forward) == Approx(static_cast<double>(one.forward)).epsilon(0.01));
    CHECK(static_cast<double>(told.backward) == Approx(static_cast<double>(one.backward)).epsilon(0.01));
  }
}

TEST_CASE("Every block of a ring costs what a rank's own causal one does, and keys go round once in each direction") {
  Tape tape;
  const RingCase one{.ranks = 4, .heads = 8, .kv_heads = 2, .head_dim = 64, .tokens = 128};
  const AttentionHeads heads{.q = projected(tape, 8, one), .k = projected(tape, 2, one), .v = projected(tape, 2, one)};
  const Tensor out = ring_attention(tape, heads, {.heads = 8, .sequence = 128, .keys = 128, .head_dim = 64}, 4);
  tape.backward(out, tape.empty(out.shape, out.dtype));
  double forward = 0, backward = 0, gathered = 0, passed = 0;
  for (const StackKernel& kernel : tape.kernels()) {
    if (kernel.sort == StackKernelSort::kAttention) (kernel.backward ? backward : forward) += kernel.flops;
    if (kernel.sort == StackKernelSort::kCollective) (kernel.dtype == DType::kFp32 ? passed : gathered) += kernel.bytes;
  }
  // 8 heads · 128 queries · (4 · 128) keys / 2 of 64 elements, two products of 2 FLOP: 67,108,864; 2.5 times that going back.
  CHECK(forward == Approx(8.0 * 128 * 512 / 2 * 64 * 4));
  CHECK(backward == Approx(2.5 * forward));
  // Keys and values of 2 heads · 128 tokens · 64 in 2 bytes are 65,536 B; those of three others come before forward and before backward.
  CHECK(gathered == Approx(2 * 3 * 65536));
  CHECK(passed == Approx(4 * 2 * 65536));  // in fp32, four times
}

TEST_CASE("A rank of eight that share a sequence in a ring needs what its eighth would need alone, and what goes round") {
  const auto alone = asked_of_stack("llama3.1-8b", fsdp(8, 1), 16384), shared = asked_of_stack("llama3.1-8b", fsdp(1, 8), 8 * 16384);
  REQUIRE(alone);
  REQUIRE(shared);
  CHECK(shared->at_peak.parameters == alone->at_peak.parameters);
  CHECK(shared->at_peak.optimizer == alone->at_peak.optimizer);
  CHECK(shared->peak.allocated >= alone->peak.allocated);
  CHECK(static_cast<double>(shared->peak.allocated.count) < 1.3 * static_cast<double>(alone->peak.allocated.count));
  const auto whole = asked_of_stack("llama3.1-8b", fsdp(8, 1), 65536), eighth = asked_of_stack("llama3.1-8b", fsdp(1, 8), 65536);
  CHECK(eighth->time.model_flops == Approx(whole->time.model_flops / 8).epsilon(0.001));
}

TEST_CASE("What a ring cannot share is refused by name") {
  using Catch::Contains;
  CHECK_THAT(stack_refusal("llama3.1-8b", fsdp(1, 8), 65544), Contains("early and a late part"));
  CHECK_THAT(stack_refusal("bert-large", fsdp(1, 2), 512), Contains("bert-large"));
  CHECK_THAT(stack_refusal("mistral-7b", fsdp(1, 2), 32768), Contains("window"));
  StackSetup whole = fsdp(1, 8);
  whole.zero = 0;
  CHECK_THAT(stack_refusal("llama3.1-8b", whole, 65536), Contains("--zero 3"));
  StackSetup both = fsdp(1, 8);
  both.tensor_ranks = 2;
  CHECK_THAT(stack_refusal("llama3.1-8b", both, 65536), Contains("no tensor ranks"));
}

TEST_CASE("Attention on Hopper is cuDNN's since PyTorch 2.11, and FlashAttention 2's before") {
  const auto step = [](bool older, std::optional<AttentionKernel> kernel, const char* gpu) {
    StackSetup setup;
    setup.older_sdpa = older;
    setup.attention = kernel;
    return asked_of_stack("llama-3.2-1b", setup, 8192, gpu)->time.step;
  };
  const double now = step(false, {}, "H100 SXM5 80GB");
  CHECK(step(true, {}, "H100 SXM5 80GB") > 1.05 * now);
  CHECK(step(true, AttentionKernel::kCudnn, "H100 SXM5 80GB") == now);
  CHECK(step(false, AttentionKernel::kFlash, "H100 SXM5 80GB") > 1.05 * now);
  CHECK(step(true, {}, "A100 80GB SXM4") == step(false, {}, "A100 80GB SXM4"));
}

}  // namespace plimsoll
