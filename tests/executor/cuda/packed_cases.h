#pragma once

#include "core/graph/op_work.h"
#include "core/model/model_spec.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {

/// What the device's programs move by 16 bytes where it lies so: rows of 264 elements, 33 packs, of which a warp's threads have one or two
/// and a block's columns do not take all; and 300 rows, which are several tiles.
inline std::vector<KernelCase> packed_cases() {
  constexpr std::int64_t kRows = 300, kWidth = 264, kAll = kRows * kWidth, kWords = 3;
  constexpr Access kW = Access::kWrite, kRw = Access::kReadWrite;
  const OpShape layer{.rows = kRows, .inputs = kWidth, .variant = static_cast<std::uint8_t>(NormKind::kLayerNorm), .constant = 1e-5};
  OpShape rms = layer;
  rms.variant = static_cast<std::uint8_t>(NormKind::kRmsNorm);
  const CaseOperand x{kAll}, y{kAll, kW}, w{kWidth}, dw{kWidth, kW}, given{2 * kRows, Access::kRead, Content::kPositive},
      made{2 * kRows, kW, Content::kWide};
  const auto space = [](const OpShape& s) {
    return CaseOperand{workspace_of(OpKind::kNormBackward, s, DType::kFp64, 1).count / 8, kW, Content::kScratch};
  };
  const OpShape products{.rows = kRows, .inputs = 16, .outputs = kWidth};
  const OpShape words{.rows = kRows, .inputs = kWidth, .outputs = kWords, .sequence = 100};
  const CaseOperand tokens{kRows + 3, Access::kRead, Content::kToken};
  const OpShape logits{.rows = 20, .outputs = 2101, .sequence = 10, .stride = 2104, .terms = 20};  // more than a block's threads take at once
  std::vector<KernelCase> cases{
      {"layer norm in packs", OpKind::kNorm, layer, {x, w, w, y, made}},
      {"rms norm in packs", OpKind::kNorm, rms, {x, w, y, made}},
      {"layer norm backward in packs", OpKind::kNormBackward, layer, {x, x, w, given, y, dw, dw, space(layer)}},
      {"rms norm backward in packs, added", OpKind::kNormBackward, rms, {x, x, w, given, {kAll, kRw}, dw, space(rms)}},
      {"linear backward weight and bias in packs", OpKind::kLinearBackwardWeight, products, {x, {kRows * 16}, {kWidth * 16, kW}, dw}},
      {"embedding backward in packs", OpKind::kEmbeddingBackward, words, {tokens, x, {kWords * kWidth, kW}}},
      {"embedding backward in packs, added", OpKind::kEmbeddingBackward, words, {tokens, x, {kWords * kWidth, kRw}}},
      {"cross entropy in packs", OpKind::kCrossEntropy, logits,
       {{20 * 2104, kRw}, {22, Access::kRead, Content::kToken}, {1, kW, Content::kDouble}}},
      {"add in packs", OpKind::kAdd, {.rows = kRows, .inputs = kWidth}, {x, x, y}}};
  for (const auto& [name, kind] : {std::pair{"gelu tanh", ActivationKind::kGeluTanh}, std::pair{"swiglu", ActivationKind::kSwiGlu}}) {
    const std::int64_t in = is_gated(kind) ? 2 * kWidth : kWidth;
    const OpShape s{.rows = kRows, .inputs = in, .outputs = kWidth, .variant = static_cast<std::uint8_t>(kind)};
    cases.push_back({std::string(name) + " in packs", OpKind::kActivation, s, {{kRows * in}, y}});
    cases.push_back({std::string(name) + " backward in packs", OpKind::kActivationBackward, s, {{kRows * in}, x, {kRows * in, kW}}});
  }
  return cases;
}

}  // namespace plimsoll::test
