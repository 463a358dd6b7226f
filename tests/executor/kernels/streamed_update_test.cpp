#include <catch2/catch.hpp>

#include <cstring>
#include <list>
#include <random>

#include "executor/cuda/host_twins.h"
#include "executor/kernels/elementwise_update.h"
#include "executor/kernels/streamed_stores.h"

using namespace plimsoll;

namespace {

/// More than is kept in caches, no whole number of pieces, and an end of decay within one.
constexpr std::int64_t kElements = kernels::kStreamedElements + 777, kDecaying = kElements - 1234;

/// Operands of an update that is in place or from version to version: gradients are stored as G, kept weights and states as W, what is
/// published as S.
template <typename S, typename W, typename G = S>
class Update {
 public:
  Update(DType dtype, bool in_place, OpKind kind = OpKind::kAdamW, std::size_t states = 2, bool publishes = true)
      : dtype_(dtype), kind_(kind), in_place_(in_place), kept_(states + 1) {
    for (std::size_t i = 0; i < kept_; ++i) add<W>(in_place ? Access::kReadWrite : Access::kRead, i == 2);
    add<G>(Access::kRead, false);
    for (std::size_t i = 0; i < kept_ && !in_place; ++i) add<W>(Access::kWrite, false);
    if (dtype != DType::kFp32 && publishes) add<S>(Access::kWrite, false);
  }

  template <typename Launch>
  void run(const Launch& launch) {
    WorkerPool pool(2);
    const Recipe recipe{.sequence = 1};
    const OpShape shape{.rows = kElements, .inputs = kDecaying};
    launch(Kernel{.kind = kind_, .dtype = dtype_, .shape = shape}, views_, LaunchContext{.pool = &pool, .recipe = &recipe, .step = 3});
  }
  /// Weights, moments and what is published, as bytes.
  [[nodiscard]] std::vector<std::vector<std::byte>> results() const {
    std::vector<std::vector<std::byte>> all;
    for (std::size_t i = in_place_ ? 0 : kept_ + 1; i < views_.size(); ++i) {
      if (i != kept_) all.emplace_back(views_[i].data, views_[i].data + views_[i].bytes.count);
    }
    return all;
  }

 private:
  /// The same numbers for the same operand; stored in two bytes they are those of small positive bits.
  template <typename T>
  void add(Access access, bool positive) {
    std::mt19937 random(static_cast<unsigned>(views_.size()));
    std::vector<std::byte>& bytes = memory_.emplace_back(static_cast<std::size_t>(kElements) * sizeof(T));
    auto* const values = reinterpret_cast<T*>(bytes.data());
    for (std::int64_t i = 0; i < kElements; ++i) {
      const float drawn = std::uniform_real_distribution<float>(positive ? 0.F : -1.F, 1)(random);
      if constexpr (sizeof(T) == 4) values[i] = drawn;
      else values[i] = T{static_cast<std::uint16_t>(0x3c00 + random() % 64)};
    }
    views_.push_back({.data = bytes.data(), .bytes = Bytes(static_cast<std::int64_t>(bytes.size())), .access = access});
  }

  DType dtype_;
  OpKind kind_;
  bool in_place_;
  std::size_t kept_;  ///< weights and states
  std::list<std::vector<std::byte>> memory_;
  std::vector<OperandView> views_;
};

constexpr auto kOnCpu = [](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  launch(kernel, operands, context);
};
constexpr auto kAsOnDevice = [](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  REQUIRE(launch_as_on_device(kernel, operands, context));
};

template <typename S, typename W, typename Launch>
void check_versions(DType dtype, const Launch& launch) {
  Update<S, W> in_place(dtype, true), to_another(dtype, false);
  in_place.run(launch);
  to_another.run(launch);
  CHECK(in_place.results() == to_another.results());
}

}  // namespace

TEST_CASE("a large update from version to version has the bits of the one in place") {
  check_versions<float, float>(DType::kFp32, kOnCpu);
  check_versions<Bf16, float>(DType::kBf16, kOnCpu);
}

TEST_CASE("the host's large updates in a device's place have the same bits from version to version, however they are stored") {
  check_versions<float, float>(DType::kFp32, kAsOnDevice);
  check_versions<Bf16, float>(DType::kBf16, kAsOnDevice);
  check_versions<Bf16, Bf16>(DType::kBf16, kAsOnDevice);
  check_versions<Fp16, Fp16>(DType::kFp16, kAsOnDevice);
}

TEST_CASE("so have those of rules of fewer states, of summed gradients, and those that publish nothing") {
  const auto check = [](auto in_place, auto to_another) {
    in_place.run(kAsOnDevice);
    to_another.run(kAsOnDevice);
    CHECK(in_place.results() == to_another.results());
  };
  const auto check_rule = [&](OpKind kind, std::size_t states, bool publishes) {
    check(Update<Bf16, float>(DType::kBf16, true, kind, states, publishes), Update<Bf16, float>(DType::kBf16, false, kind, states, publishes));
    check(Update<Bf16, Bf16, float>(DType::kBf16, true, kind, states, publishes),
          Update<Bf16, Bf16, float>(DType::kBf16, false, kind, states, publishes));
  };
  check_rule(OpKind::kSgd, 0, true);
  check_rule(OpKind::kMomentum, 1, false);
  check_rule(OpKind::kLion, 1, true);
  check_rule(OpKind::kAdam, 2, false);
}

TEST_CASE("rules of no and of one state go past the caches with the bits of their loops, fp32 and fp64, and publish nothing where nothing is") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    constexpr std::int64_t kSize = 2 * kernels::kPiece + 5, kBegin = 3, kCount = kSize - 4;
    std::vector<T> gradient(kSize), weights(kSize), velocity(kSize), moved(kSize, T(9)), fresh(kSize, T(9)), expected(kSize, T(9)), expected_fresh(kSize, T(9));
    for (std::int64_t i = 0; i < kSize; ++i) {
      const auto k = static_cast<std::size_t>(i);
      gradient[k] = T(i % 17) / 16 - T(0.5);
      weights[k] = T(i % 29) / 7;
      velocity[k] = T(i % 5) / 3;
    }
    const UpdateStep<T> step{.keep = T(0.99), .factor = T(0.7), .rate = T(0.01), .momentum = T(0.9), .ahead = 1};
    const OperandView view{.data = reinterpret_cast<std::byte*>(gradient.data()), .bytes = Bytes(kSize * static_cast<std::int64_t>(sizeof(T))), .access = Access::kRead};
    kernels::UpdateOperands<T, T> u{.gradient = kernels::Gradient<T>(view, kSize), .weights = weights.data(), .new_weights = moved.data()};
    kernels::update_streamed<0>(u, kBegin, kCount, step, loops<T>().sgd);
    loops<T>().sgd(kCount, step, gradient.data() + kBegin, weights.data() + kBegin, expected.data() + kBegin);
    CHECK(moved == expected);  // what lies before and behind stays 9
    u.states[0] = reinterpret_cast<std::byte*>(velocity.data());
    u.new_states[0] = reinterpret_cast<std::byte*>(fresh.data());
    kernels::update_streamed<1>(u, kBegin, kCount, step, loops<T>().momentum);
    loops<T>().momentum(kCount, step, gradient.data() + kBegin, weights.data() + kBegin, velocity.data() + kBegin, expected.data() + kBegin, expected_fresh.data() + kBegin);
    CHECK(moved == expected);
    CHECK(fresh == expected_fresh);
  };
  check(0.0F);
  check(0.0);
}

TEST_CASE("bytes that go past the caches arrive, wherever they begin and end") {
  std::vector<char> from(300), to(300);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i);
  for (const std::int64_t begin : {0, 1, 15, 16, 17}) {
    for (const std::int64_t n : {0, 1, 5, 15, 16, 31, 64, 200}) {
      std::fill(to.begin(), to.end(), 'x');
      kernels::stream_out(n, from.data() + 3, to.data() + begin);
      kernels::finish_streams();
      CHECK(std::memcmp(to.data() + begin, from.data() + 3, static_cast<std::size_t>(n)) == 0);
      CHECK(to[static_cast<std::size_t>(begin + n)] == 'x');
      if (begin > 0) CHECK(to[static_cast<std::size_t>(begin - 1)] == 'x');
    }
  }
}
