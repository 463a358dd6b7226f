#include <catch2/catch.hpp>

#include <array>
#include <stdexcept>

#include "executor/cuda/launch/attention.h"
#include "formats/models/half_floats.h"
#include "tests/executor/cuda/attention_cases.h"
#include "tests/executor/cuda/emulated_launch.h"
#include "tests/executor/cuda/played_block.h"

namespace plimsoll::test {
namespace {

using cuda::Sums;
using cuda::Word;
constexpr Fibers::Order kOrders[] = {Fibers::Order::kForward, Fibers::Order::kBackward};

/// Runs `body(block, thread)` on the 32 threads of a warp.
template <typename Body>
void in_a_warp(Fibers::Order order, const Body& body) {
  Fibers fibers(order);
  PlayedWarps warps;
  fibers.run(Fibers::kWarp, [&](int thread) { body(PlayedBlock(fibers, warps, order, thread, 0), thread); });
}

std::uint16_t bits_of(Bf16, float value) { return bf16_from_float(value); }
std::uint16_t bits_of(Fp16, float value) { return fp16_from_float(value); }

/// The fragments of a whole product, a thread after another.
struct Warp {
  std::array<Word[4], 32> left{};
  std::array<Word[2], 32> right{};
  std::array<Sums, 32> sums{};
};

template <typename S>
void multiply(Warp& warp, Fibers::Order order) {
  in_a_warp(order, [&](const PlayedBlock& block, int thread) {
    const auto i = static_cast<std::size_t>(thread);
    block.multiply(S(), warp.sums[i], warp.left[i], warp.right[i]);
  });
}

CaseOptions emulated(Fibers::Order order) {
  const auto launch = [order](const Kernel& kernel, std::span<const OperandView> operands,
                              const LaunchContext& context) {
    emulate({kernel, operands, context, nullptr}, order);
  };
  return {.launch = launch};
}

/// The columns [begin, begin + count) of every row of `width`.
std::vector<double> columns(const std::vector<double>& rows, std::int64_t width, std::int64_t begin,
                            std::int64_t count) {
  std::vector<double> found;
  for (auto row = rows.begin(); row != rows.end(); row += width)
    found.insert(found.end(), row + begin, row + begin + count);
  return found;
}

}  // namespace

TEST_CASE("elements of fragments are where the PTX ISA puts them") {
  for (const Fibers::Order order : kOrders) {
    Warp warp;
    // Left (9, 13): thread 9 % 8 · 4 + 13 % 8 / 2 = 6; below the eighth row and right of the eighth column: word 3;
    // odd: upper half.
    warp.left[6][3] = Word{bits_of(Bf16(), 2)} << 16;
    // Right (13, 5): thread 5 · 4 + 13 % 8 / 2 = 22; below the eighth row: word 1; odd: upper half.
    warp.right[22][1] = Word{bits_of(Bf16(), 3)} << 16;
    // Left (9, 4): the same thread, 9 % 8 · 4 + 4 / 2; below the eighth row only: word 1; even: lower half.
    warp.left[6][1] = bits_of(Bf16(), 5);
    // Right (4, 0): thread 0 · 4 + 4 / 2 = 2, word 0, lower half.
    warp.right[2][0] = bits_of(Bf16(), 7);
    // Sums (9, 5): thread 9 % 8 · 4 + 5 / 2 = 6; below the eighth row and odd: the fourth.
    warp.sums[6][3] = 10;
    multiply<Bf16>(warp, order);
    for (std::size_t thread = 0; thread < 32; ++thread) {
      for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(thread, i);
        const float at_9_5 = 10 + 2 * 3, at_9_0 = 5 * 7;  // (9, 0): thread 9 % 8 · 4 + 0 / 2 = 4, the third
        CHECK(warp.sums[thread][i] == (thread == 6 && i == 3 ? at_9_5 : thread == 4 && i == 2 ? at_9_0 : 0));
      }
    }
  }
}

namespace {

/// Left (i, k) = i − k, right (k, j) = k + 2 j, sums (i, j) = i + j, spread as the ISA's formulas have it for element e
/// of thread t: left row t / 4 + 8 (e / 2 % 2), column 2 (t % 4) + e % 2 + 8 (e / 4); right row 2 (t % 4) + e % 2 + 8
/// (e / 2), column t / 4.
template <typename S>
void check_whole_product(Fibers::Order order) {
  Warp warp;
  for (int t = 0; t < 32; ++t) {
    const auto thread = static_cast<std::size_t>(t);
    for (int e = 0; e < 8; ++e) {
      const int i = t / 4 + 8 * (e / 2 % 2), k = 2 * (t % 4) + e % 2 + 8 * (e / 4);
      warp.left[thread][e / 2] |= Word{bits_of(S(), static_cast<float>(i - k))} << (16 * (e % 2));
    }
    for (int e = 0; e < 4; ++e) {
      const int k = 2 * (t % 4) + e % 2 + 8 * (e / 2), j = t / 4;
      warp.right[thread][e / 2] |= Word{bits_of(S(), static_cast<float>(k + 2 * j))} << (16 * (e % 2));
      warp.sums[thread][e] = static_cast<float>(t / 4 + 8 * (e / 2) + 2 * (t % 4) + e % 2);
    }
  }
  multiply<S>(warp, order);
  for (int t = 0; t < 32; ++t) {
    for (int e = 0; e < 4; ++e) {
      const int i = t / 4 + 8 * (e / 2), j = 2 * (t % 4) + e % 2;
      // Σ over k < 16 of (i − k)(k + 2 j) = i (120 + 32 j) − (1240 + 240 j), and i + j before.
      CHECK(warp.sums[static_cast<std::size_t>(t)][e] ==
            static_cast<float>(i + j + i * (120 + 32 * j) - 1240 - 240 * j));
    }
  }
}

}  // namespace

TEST_CASE("a played product is the product of its matrices") {
  for (const Fibers::Order order : kOrders) {
    check_whole_product<Bf16>(order);
    check_whole_product<Fp16>(order);
  }
}

TEST_CASE("four matrices are loaded by rows that threads name eight at a time, or turned") {
  // Element (r, c) of matrix m is 100 m + 10 r + c, its rows 24 elements apart.
  std::array<std::uint16_t, 4 * 8 * 24> memory{};
  for (std::size_t m = 0; m < 4; ++m) {
    for (std::size_t r = 0; r < 8; ++r) {
      for (std::size_t c = 0; c < 8; ++c)
        memory[(8 * m + r) * 24 + c] = static_cast<std::uint16_t>(100 * m + 10 * r + c);
    }
  }
  std::array<Word[4], 32> plain{}, turned{};
  in_a_warp(Fibers::Order::kForward, [&](const PlayedBlock& block, int thread) {
    const auto i = static_cast<std::size_t>(thread);
    block.load(plain[i], memory.data() + 24 * i);
    block.load_turned(turned[i], memory.data() + 24 * i);
  });
  // Thread 22 is row 22 / 4 = 5 and columns 2 · (22 % 4) = 4 and 5; turned, they are rows 4 and 5 of column 5.
  CHECK(plain[22][0] == (54U | 55U << 16));
  CHECK(plain[22][3] == (354U | 355U << 16));
  CHECK(turned[22][0] == (45U | 55U << 16));
  CHECK(turned[22][2] == (245U | 255U << 16));
}

TEST_CASE("threads of a warp see each other's values, as often as they ask") {
  for (const Fibers::Order order : kOrders) {
    std::array<float, 32> joined{};
    in_a_warp(order, [&](const PlayedBlock& block, int thread) {
      joined[static_cast<std::size_t>(thread)] = cuda::join_row(block, static_cast<float>(thread), cuda::Plus());
    });
    for (std::size_t i = 0; i < 32; ++i)
      CHECK(joined[i] == static_cast<float>(i / 4 * 16 + 6));  // 4 (4 q) + 0 + 1 + 2 + 3
  }
}

TEST_CASE("what is fetched comes at once in one order, and in the other not before it is awaited") {
  alignas(16) std::array<float, 4> from{1, 2, 3, 4}, to{};
  for (const Fibers::Order order : kOrders) {
    in_a_warp(order, [&](const PlayedBlock& block, int thread) {
      if (thread > 0) return;
      to = {};
      block.fetch(reinterpret_cast<Bf16*>(to.data()), reinterpret_cast<const Bf16*>(from.data()), true);
      CHECK(to[3] == (order == Fibers::Order::kForward ? 4 : 0));
      block.await();
      CHECK(to == from);
      block.fetch(to.data() + 1, from.data(), false);
      block.await();
      CHECK(to == std::array<float, 4>{1, 0, 3, 4});
    });
  }
}

TEST_CASE("a warp of which some threads wait for each other and some for the block is a mistake that is told") {
  Fibers fibers;
  const auto astray = [&](int thread) {
    if (thread % 2 == 0) fibers.sync_warp();
    fibers.sync();
  };
  CHECK_THROWS_AS(fibers.run(64, astray), std::logic_error);
  int ran = 0;
  fibers.run(64, [&](int) { ++ran; });
  CHECK(ran == 64);
}

TEST_CASE("matrix units take heads of whole 16 bytes up to 128 elements, but for the smallest") {
  for (const cuda::Index dim : {32, 40, 64, 80, 96, 128}) CHECK(cuda::suits_matrix_units(dim));
  for (const cuda::Index dim : {8, 10, 24, 36, 70, 136, 256}) CHECK(!cuda::suits_matrix_units(dim));
}

TEST_CASE("neither the order of threads nor when fetched rows come changes a bit of attention by matrix units") {
  for (const KernelCase& c : wide_attentions()) {
    const DType dtype = c.shape.head_dim % 64 == 0 ? DType::kBf16 : DType::kFp16;
    CAPTURE(c.name, to_text(dtype));
    const Values inputs = rounded(c, random_values(c, 5), dtype);
    CHECK((run_case(c, inputs, dtype, emulated(Fibers::Order::kForward)) ==
           run_case(c, inputs, dtype, emulated(Fibers::Order::kBackward))));
  }
}

TEST_CASE("a head's attention has the same bits beside others as alone: ranks may divide heads") {
  constexpr std::int64_t kDim = 64;
  const std::vector<KernelCase> both = there_and_back("both", wide_attention(2, 2, kDim, AttentionKind::kCausal));
  const std::vector<KernelCase> one = there_and_back("one", wide_attention(1, 1, kDim, AttentionKind::kCausal));
  const CaseOptions options = emulated(Fibers::Order::kForward);
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    const Values inputs = rounded(both[0], random_values(both[0], 9), dtype);
    Values alone = random_values(one[0]);
    const std::vector<double>& rows = inputs[0];  // query 0, query 1, key 0, key 1, value 0, value 1
    alone[0].clear();
    for (auto row = rows.begin(); row != rows.end(); row += 6 * kDim) {
      for (const int part : {1, 3, 5}) alone[0].insert(alone[0].end(), row + part * kDim, row + (part + 1) * kDim);
    }
    const Values of_both = run_case(both[0], inputs, dtype, options), of_one = run_case(one[0], alone, dtype, options);
    CHECK(columns(of_both[1], 2 * kDim, kDim, kDim) == of_one[1]);
    CHECK(columns(of_both[2], 2, 1, 1) == of_one[2]);
  }
}

}  // namespace plimsoll::test
