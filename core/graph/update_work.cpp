#include "core/graph/update_work.h"

#include <algorithm>

#include "core/graph/optimizer_state.h"

namespace plimsoll {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// Weights that an update writes.
std::int64_t updated_elements(OpKind kind, const OpShape& s) {
  switch (kind) {
    case OpKind::kAdafactor:
    case OpKind::kSm3:
    case OpKind::kLamb:
    case OpKind::kMuon:
    case OpKind::kLars: return s.rows * s.inputs;
    default: return s.rows;
  }
}

/// Operations a weight, counted from the kernels' formulas.
double flops_of_weight(OpKind kind) {
  switch (kind) {
    case OpKind::kSgd: return 4;
    case OpKind::kMomentum: return 8;
    case OpKind::kAdam: return 15;
    case OpKind::kLion: return 9;
    case OpKind::kAdam8bit: return 14 + 2 * 10;  // and for each moment: scaling both ways, and eight comparisons
    case OpKind::kAdafactor: return 2 + 2 + 6 + 6;
    case OpKind::kSm3: return 9 + 4;
    case OpKind::kLamb: return 17 + 10;
    case OpKind::kLars: return 4 + 7;
    case OpKind::kMuon: return 4 + 6;  // beside the products, which newton_schulz_flops counts
    default: return 14;  // AdamW
  }
}

}  // namespace

bool takes_group(OpKind kind) {
  return kind == OpKind::kSgd || kind == OpKind::kMomentum || kind == OpKind::kAdam || kind == OpKind::kLion || kind == OpKind::kAdamW;
}

double newton_schulz_flops(const OpShape& s) {
  const auto product = [](double a, double b, double c) { return 2.0 * a * b * c; };
  const double rows = real(s.rows / s.terms), columns = real(s.inputs);
  const double m = std::min(rows, columns), n = std::max(rows, columns);
  return real(kNewtonSchulzSteps * s.terms) * (2 * product(m, m, n) + product(m, m, m));
}

double update_flops(OpKind kind, const OpShape& s) {
  const double flops = flops_of_weight(kind) * real(updated_elements(kind, s));
  return kind == OpKind::kMuon ? flops + newton_schulz_flops(s) : flops;
}

Bytes update_traffic(OpKind kind, const OpShape& s, DType dtype) {
  const std::int64_t n = updated_elements(kind, s), e = size_of(dtype);
  const bool narrow = (takes_group(kind) || kind == OpKind::kMuon) && s.variant == 1;
  const std::int64_t wide = dtype == DType::kFp64 ? 8 : 4, state = narrow ? e : wide;
  const std::int64_t factors = s.rows > 1 ? s.rows + s.inputs : s.inputs;  // of Adafactor and SM3
  const std::int64_t published = e != state ? e : 0;
  switch (kind) {
    case OpKind::kSgd: return Bytes(n * (2 * state + e + published));
    case OpKind::kMomentum:
    case OpKind::kLion: return Bytes(n * (4 * state + e + published));
    case OpKind::kAdam8bit: return Bytes(n * (2 * state + e + published) + 4 * quantized_bytes(n));
    case OpKind::kAdafactor: return Bytes(n * (3 * state + 4 * e + published) + 2 * state * factors);
    case OpKind::kSm3: return Bytes(n * (2 * state + (s.rows > 1 ? 2 : 1) * e + published) + 2 * state * factors);
    case OpKind::kLamb: return Bytes(n * (9 * state + e + published));
    case OpKind::kLars: return Bytes(n * (5 * state + 2 * e + published));
    case OpKind::kMuon: return Bytes(n * (4 * state + e + published) + kNewtonSchulzSteps * 4 * 2 * n);
    default: return Bytes(n * (6 * state + e + published));
  }
}

}  // namespace plimsoll
