#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// What a spelling found in a text; `number` is what its "{}" stands for.
struct SpellingMatch {
  std::optional<std::int64_t> number;
};

/// Compares a text with a spelling, case aside: '*' stands for any run of characters, "{}" for the digits of a whole number.
/// Several spellings may stand beside each other, divided by '|'. Time is at most quadratic in the length of the text.
std::optional<SpellingMatch> match_spelling(std::string_view spelling, std::string_view text);

}  // namespace plimsoll
