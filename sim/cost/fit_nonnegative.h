#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace plimsoll {

/// One observation: a time with the amounts of work it took.
struct WorkTime {
  double flops = 0;
  double bytes = 0;
  double time = 0;  ///< any unit, positive
};

/// time = constant + per_flop · flops + per_byte · bytes, none of them negative.
struct WorkRates {
  double constant = 0;
  double per_flop = 0;
  double per_byte = 0;

  [[nodiscard]] double time(double flops, double bytes) const { return constant + per_flop * flops + per_byte * bytes; }
};

/// Least squares of the relative errors over all sets of terms whose coefficients come out non-negative; a further term
/// is taken only when it lowers the sum of squares by a tenth, so that two points do not make three rates.
/// `flops_first` says which single term explains one point. All zero without observations.
WorkRates fit_nonnegative(std::span<const WorkTime> observations, bool flops_first);

}  // namespace plimsoll
