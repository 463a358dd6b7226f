#include "formats/traces/trace_numbers.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace plimsoll {
namespace {

constexpr std::int64_t kFurthest = std::int64_t{1} << 61;

std::optional<double> floating(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const auto number = floating(text);
  if (!number || std::fabs(*number) >= 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<std::uint64_t> bits_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const auto whole = whole_number(text);
  return whole ? std::optional(static_cast<std::uint64_t>(*whole)) : std::nullopt;
}

std::optional<std::int64_t> microseconds(std::string_view text) {
  std::int64_t whole = 0;
  const char* const last = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), last, whole);
  const bool plain = error == std::errc() && (at == last || *at == '.') && std::llabs(whole) < kFurthest / 1000;
  if (!plain) {
    const auto number = floating(text);
    if (!number || std::fabs(*number) * 1e3 >= static_cast<double>(kFurthest)) return std::nullopt;
    return std::llround(*number * 1e3);
  }
  std::int64_t part = 0;
  std::int64_t unit = 1000;
  bool round_up = false;
  for (const char* digit = at == last ? last : at + 1; digit < last; ++digit) {
    if (*digit < '0' || *digit > '9') {  // an exponent behind decimals
      const auto number = floating(text);
      if (!number || std::fabs(*number) * 1e3 >= static_cast<double>(kFurthest)) return std::nullopt;
      return std::llround(*number * 1e3);
    }
    if (unit == 1) {
      round_up = *digit >= '5';
      break;
    }
    unit /= 10;
    part += (*digit - '0') * unit;
  }
  part += round_up ? 1 : 0;
  return whole * 1000 + (text.front() == '-' ? -part : part);
}

}  // namespace plimsoll
