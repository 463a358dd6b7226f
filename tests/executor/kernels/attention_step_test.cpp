// Attention over a sequence that comes in slices.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/graph/op_work.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {
namespace {

constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

// One sequence of 140 tokens in two slices of 70, more than one tile of queries each; two query heads share one of keys.
constexpr std::int64_t kSlice = 70, kHeads = 4, kKeyHeads = 2, kDim = 10;
constexpr std::int64_t kQkv = (kHeads + 2 * kKeyHeads) * kDim, kOut = kHeads * kDim, kKeys = 2 * kKeyHeads * kDim;

OpShape shape_of(std::int64_t rows, AttentionKind kind) {
  return {.rows = rows, .sequence = rows, .heads = kHeads, .kv_heads = kKeyHeads, .head_dim = kDim,
          .variant = static_cast<std::uint8_t>(kind)};
}

CaseOperand scratch_of(OpKind kind, const OpShape& shape) {
  return {workspace_of(kind, shape, DType::kFp64, kMostCaseWorkers).count / 8, kW, Content::kScratch};
}

Values run(const KernelCase& of, Values operands) {
  for (std::size_t i = operands.size(); i < of.operands.size(); ++i)
    operands.emplace_back(static_cast<std::size_t>(of.operands[i].elements), 0.0);
  return run_case(of, operands, DType::kFp64);
}

/// out and log-sum-exp.
Values attend(const std::vector<double>& qkv, std::int64_t rows) {
  const OpShape s = shape_of(rows, AttentionKind::kCausal);
  const Values ran = run({"", OpKind::kAttention, s,
                          {{rows * kQkv, kR}, {rows * kOut, kW}, {rows * kHeads, kW, Content::kWide},
                           scratch_of(OpKind::kAttention, s)}},
                         {qkv});
  return {ran[1], ran[2]};
}

std::vector<double> attend_back(const std::vector<double>& qkv, const Values& found, const std::vector<double>& dout,
                                std::int64_t rows) {
  const OpShape s = shape_of(rows, AttentionKind::kCausal);
  const CaseOperand out{rows * kOut, kR};
  return run({"", OpKind::kAttentionBackward, s,
              {{rows * kQkv, kR}, out, {rows * kHeads, kR, Content::kWide}, out, {rows * kQkv, kW},
               scratch_of(OpKind::kAttentionBackward, s)}},
             {qkv, found[0], found[1], dout})[4];
}

std::vector<double> keys_of(const std::vector<double>& qkv) {
  return run({"", OpKind::kKeysValues, shape_of(kSlice, AttentionKind::kCausal), {{kSlice * kQkv, kR}, {kSlice * kKeys, kW}}},
             {qkv})[1];
}

/// The second half's `found` once its queries have met the first half's keys.
Values join(const std::vector<double>& qkv, const std::vector<double>& keys, const Values& found) {
  const OpShape s = shape_of(kSlice, AttentionKind::kFull);
  const Values ran = run({"", OpKind::kAttentionStep, s,
                          {{kSlice * kQkv, kR}, {kSlice * kKeys, kR}, {kSlice * kOut, kRw},
                           {kSlice * kHeads, kRw, Content::kWide}, scratch_of(OpKind::kAttentionStep, s)}},
                         {qkv, keys, found[0], found[1]});
  return {ran[2], ran[3]};
}

std::vector<double> part(const std::vector<double>& all, std::int64_t half) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / 2);
  return {all.begin() + half * size, all.begin() + (half + 1) * size};
}

}  // namespace

TEST_CASE("attention that meets its keys slice by slice is attention to all of them, there and back") {
  const OpShape s = shape_of(2 * kSlice, AttentionKind::kCausal);
  const Values random = random_values({"", OpKind::kAttentionBackward, s, {{2 * kSlice * kQkv, kR}, {2 * kSlice * kOut, kR}}});
  const std::vector<double>&qkv = random[0], &dout = random[1];
  const Values whole = attend(qkv, 2 * kSlice);
  const std::vector<double> first = part(qkv, 0), second = part(qkv, 1), keys = keys_of(first);
  const Values before = attend(first, kSlice), after = join(second, keys, attend(second, kSlice));
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(relative_distance(before[i], part(whole[i], 0)) < 1e-15);
    CHECK(relative_distance(after[i], part(whole[i], 1)) < 1e-14);
  }

  const std::vector<double> wanted = attend_back(qkv, whole, dout, 2 * kSlice);
  const OpShape step = shape_of(kSlice, AttentionKind::kFull);
  const CaseOperand out{kSlice * kOut, kR};
  const Values back = run({"", OpKind::kAttentionStepBackward, step,
                           {{kSlice * kQkv, kR}, {kSlice * kKeys, kR}, out, {kSlice * kHeads, kR, Content::kWide}, out,
                            {kSlice * kQkv, kRw}, {kSlice * kKeys, kW}, scratch_of(OpKind::kAttentionStepBackward, step)}},
                          {second, keys, after[0], after[1], part(dout, 1), attend_back(second, after, part(dout, 1), kSlice)});
  CHECK(relative_distance(back[5], part(wanted, 1)) < 1e-14);
  const Values joined = run({"", OpKind::kKeysValuesBackward, step, {{kSlice * kKeys, kR}, {kSlice * kQkv, kRw}}},
                            {back[6], attend_back(first, before, part(dout, 0), kSlice)});
  CHECK(relative_distance(joined[1], part(wanted, 0)) < 1e-14);
}

}  // namespace plimsoll::test
