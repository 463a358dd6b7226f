// Every number that a plan's file can give as the kind of an attention: computed as that kind is defined, or refused.
#include <catch2/catch.hpp>

#include <cmath>
#include <optional>

#include "core/graph/attention_kind.h"
#include "executor/cuda/launch/supports.h"
#include "tests/executor/cuda/emulated_launch.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kSequence = 5, kHeads = 2, kDim = 4, kQkv = 3 * kHeads * kDim;

/// What a score of head `head` gains for a key `distance` before its query, and whether the key is seen; nothing where
/// `kind` is no kind. Slopes: of 2 heads 2⁻⁴ and 2⁻⁸ (Press et al. 2022, section 3).
std::optional<double> bias(AttentionKind kind, std::int64_t head, std::int64_t query, std::int64_t key,
                           std::int64_t extent) {
  constexpr double kUnseen = -INFINITY;
  switch (kind) {
    case AttentionKind::kCausal:
      return key <= query ? 0 : kUnseen;
    case AttentionKind::kFull:
      return 0;
    case AttentionKind::kPadded:
      return key < extent ? 0 : kUnseen;
    case AttentionKind::kCausalAlibi:
      return key <= query ? -std::exp2(-4.0 * static_cast<double>(head + 1)) * static_cast<double>(query - key)
                          : kUnseen;
  }
  return std::nullopt;
}

KernelCase attention_of(AttentionKind kind) {
  const OpShape s{.rows = kSequence,
                  .sequence = kSequence,
                  .heads = kHeads,
                  .kv_heads = kHeads,
                  .head_dim = kDim,
                  .variant = static_cast<std::uint8_t>(kind)};
  KernelCase c{"attention", OpKind::kAttention, s, {{kSequence * kQkv, Access::kRead}}};
  if (kind == AttentionKind::kPadded) c.operands.push_back({2, Access::kRead, Content::kExtent});
  c.operands.push_back({kSequence * kHeads * kDim, Access::kWrite});
  c.operands.push_back({kSequence * kHeads, Access::kWrite, Content::kWide});
  c.operands.push_back({1 << 12, Access::kWrite, Content::kScratch});
  return c;
}

/// softmax(q kᵀ / √d + bias) v of one query, and the sum that it divides by.
std::vector<double> attend(AttentionKind kind, const std::vector<double>& qkv, std::int64_t head, std::int64_t query,
                           std::int64_t extent) {
  const auto at = [&](std::int64_t row, std::int64_t part, std::int64_t i) {  // part 0: queries, 1: keys, 2: values
    return qkv[static_cast<std::size_t>(row * kQkv + (part * kHeads + head) * kDim + i)];
  };
  std::vector<double> out(kDim, 0);
  double sum = 0;
  for (std::int64_t key = 0; key < kSequence; ++key) {
    double score = 0;
    for (std::int64_t i = 0; i < kDim; ++i) score += at(query, 0, i) * at(key, 1, i);
    const double weight = std::exp(score / 2 + *bias(kind, head, query, key, extent));  // √4
    sum += weight;
    for (std::int64_t i = 0; i < kDim; ++i) out[static_cast<std::size_t>(i)] += weight * at(key, 2, i);
  }
  for (double& element : out) element /= sum;
  return out;
}

std::vector<double> defined(AttentionKind kind, const Values& inputs) {
  const std::int64_t extent = kind == AttentionKind::kPadded ? static_cast<std::int64_t>(inputs[1][0]) : kSequence;
  std::vector<double> out;
  for (std::int64_t query = 0; query < kSequence; ++query) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (const double element : attend(kind, inputs[0], head, query, extent)) out.push_back(element);
    }
  }
  return out;
}

/// True when `launch` makes of random numbers what the kind's definition does.
bool computes(AttentionKind kind, const CaseLaunch& launch) {
  const KernelCase c = attention_of(kind);
  Values inputs = random_values(c);
  if (kind == AttentionKind::kPadded) inputs[1] = {3, 0};
  const Values found = run_case(c, inputs, DType::kFp32, {.launch = launch});
  return relative_distance(found[kind == AttentionKind::kPadded ? 2 : 1], defined(kind, inputs)) < 1e-5;
}

void emulated(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  std::vector<std::byte> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) + 1);
  emulate({kernel, operands, context, scratch.data()}, Fibers::Order::kForward);
}

}  // namespace

TEST_CASE("attention of every kind is computed as it is defined or refused, on the device and on the CPU") {
  int on_device = 0, on_cpu = 0, refused = 0;
  for (int number = 0; number <= 255; ++number) {
    const auto kind = static_cast<AttentionKind>(number);
    CAPTURE(number, std::string(to_text(kind)));
    for (const OpKind op : {OpKind::kAttention, OpKind::kAttentionBackward}) {
      Kernel kernel{.kind = op, .dtype = DType::kFp32, .shape = attention_of(kind).shape};
      const auto known = cuda::check_kernel(kernel);
      if (known) {
        REQUIRE(bias(kind, 0, 0, 0, 1));
        CHECK(computes(kind, emulated));
        ++on_device;
      } else {
        CHECK(known.error().text().find("attention of the kind '" + std::string(to_text(kind)) + "'") !=
              std::string::npos);
        ++refused;
      }
      if (!supports(kernel)) continue;
      REQUIRE(bias(kind, 0, 0, 0, 1));
      CHECK(computes(kind, plimsoll::launch));
      ++on_cpu;
    }
  }
  CHECK(on_device == 6);  // causal, full and padded, there and back
  CHECK(on_cpu == 6);
  CHECK(refused == 512 - 6);
}

}  // namespace plimsoll::test
