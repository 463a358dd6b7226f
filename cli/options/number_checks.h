#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace plimsoll {

/// Checks of an option's number that say its one limit, where CLI11's own print the largest number that there is as the other.
/// What is no number is told by CLI11 itself.
inline CLI::Validator not_below_zero() {
  const auto check = [](std::string& text) {
    double number = 0;
    if (!CLI::detail::lexical_cast(text, number)) return "'" + text + "' is no number";
    return number >= 0 ? std::string() : text + " is less than 0";
  };
  return {check, "NONNEGATIVE"};
}

inline CLI::Validator above_zero() {
  const auto check = [](std::string& text) {
    double number = 0;
    if (!CLI::detail::lexical_cast(text, number)) return "'" + text + "' is no number";
    return number > 0 ? std::string() : text + " is not more than 0";
  };
  return {check, "POSITIVE"};
}

/// "32k" of tokens is 32768, as contexts are named.
inline CLI::Validator tokens_with_unit() {
  const auto write_out = [](std::string& text) {
    const bool thousands = !text.empty() && (text.back() == 'k' || text.back() == 'K');
    std::int64_t number = 0;
    if (!thousands || !CLI::detail::lexical_cast(text.substr(0, text.size() - 1), number) || number > (std::int64_t{1} << 40)) return std::string();
    text = std::to_string(number * 1024);
    return std::string();
  };
  return {write_out, ""};
}

}  // namespace plimsoll
