#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// A whole number of one unit. Sums and differences stay in the unit; a ratio of two is a plain number.
template <typename Unit>
struct Quantity {
  std::int64_t count = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t value) : count(value) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { count += other.count; return *this; }
  constexpr Quantity& operator-=(Quantity other) { count -= other.count; return *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count + b.count); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count - b.count); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.count * n); }
  friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return Quantity(a.count * n); }
};

using Bytes = Quantity<struct BytesUnit>;              ///< bytes
using Nanoseconds = Quantity<struct NanosecondsUnit>;  ///< nanoseconds since the start of a simulation or run

inline constexpr Bytes kKiB{std::int64_t{1} << 10};
inline constexpr Bytes kMiB{std::int64_t{1} << 20};
inline constexpr Bytes kGiB{std::int64_t{1} << 30};

/// Largest byte count a parser accepts (1 EiB): sums of such sizes still fit 64 bits.
inline constexpr Bytes kMaxParsedBytes{std::int64_t{1} << 60};

/// `n` rounded up to a multiple of `alignment` (a power of two).
constexpr Bytes align_up(Bytes n, Bytes alignment) {
  return Bytes((n.count + alignment.count - 1) & ~(alignment.count - 1));
}

/// Seconds as a floating-point number, for rates and for people.
constexpr double to_seconds(Nanoseconds t) { return static_cast<double>(t.count) * 1e-9; }

/// Nanoseconds nearest to `seconds` (which must be finite and below 292 years).
Nanoseconds from_seconds(double seconds);

/// "5.61 GiB", "512.0 MiB", "17 B": three significant places in binary units.
std::string to_text(Bytes bytes);

/// "3.12 s", "14.2 ms", "870 ns".
std::string to_text(Nanoseconds time);

/// Reads "16GiB", "1.5TB", "512MiB", "4096": binary units are powers of 1024, decimal ones of 1000.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace plimsoll
