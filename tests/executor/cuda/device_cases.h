#pragma once

#include "executor/cuda/launch/supports.h"
#include "tests/executor/cuda/attention_cases.h"
#include "tests/executor/cuda/packed_cases.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {

/// An update in place of 7001 weights, of which 5000 decay, with a factor, published.
inline KernelCase update_case(const std::string& name, OpKind kind, std::int64_t states) {
  constexpr std::int64_t kElements = 7001;
  KernelCase c{name, kind, {.rows = kElements, .inputs = 5000}, {{kElements, Access::kReadWrite, Content::kWide}}};
  if (states > 0) c.operands.push_back({kElements, Access::kReadWrite, Content::kWide});
  if (states > 1) c.operands.push_back({kElements, Access::kReadWrite, Content::kPositive});
  c.operands.push_back({kElements, Access::kRead});
  c.operands.push_back({1, Access::kRead, Content::kDouble});
  c.operands.push_back({kElements, Access::kWrite});
  return c;
}

/// Every kernel that the CUDA backend has, at odd sizes, and what it moves in packs.
inline std::vector<KernelCase> device_cases() {
  std::vector<KernelCase> cases{update_case("sgd, published", OpKind::kSgd, 0), update_case("momentum, published", OpKind::kMomentum, 1),
                                update_case("lion, published", OpKind::kLion, 1), update_case("adam, published", OpKind::kAdam, 2),
                                update_case("adamw, published", OpKind::kAdamW, 2)};
  for (const KernelCase& c : all_cases()) {
    if (cuda::check_kernel({.kind = c.kind, .dtype = DType::kFp32, .shape = c.shape})) cases.push_back(c);
  }
  for (const KernelCase& c : wide_attentions()) cases.push_back(c);
  for (const KernelCase& c : packed_cases()) cases.push_back(c);
  return cases;
}

}  // namespace plimsoll::test
