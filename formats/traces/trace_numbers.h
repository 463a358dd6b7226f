#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

/// A whole number; of a fraction or an exponent what is before the point. Nothing when it is none, or does not fit 64 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

/// Bits of a whole number up to 2⁶⁴ − 1, as addresses and hashes are.
std::optional<std::uint64_t> bits_of(std::string_view text);

/// Microseconds with any number of decimals as nanoseconds, exact to the nanosecond (rounded half up beyond). Nothing when the
/// text is no number, or further than 73 years from 0.
std::optional<std::int64_t> microseconds(std::string_view text);

}  // namespace plimsoll
