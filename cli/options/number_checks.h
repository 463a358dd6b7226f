#pragma once

#include <CLI/CLI.hpp>
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

}  // namespace plimsoll
