#pragma once

namespace plimsoll {

// A Newton–Schulz step makes of X the polynomial aX + b(XXᵀ)X + c(XXᵀ)²X, whose five repetitions bring X near to the nearest
// orthogonal matrix (Jordan et al. 2024; numbers as torch.optim.Muon has them).
inline constexpr double kFirstCoefficient = 3.4445, kThirdCoefficient = -4.7750, kFifthCoefficient = 2.0315;
/// A matrix whose norm is less is divided by this.
inline constexpr double kLeastMatrixNorm = 1e-7;

}  // namespace plimsoll
