#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// The alphabet in which byte-level vocabularies write bytes (GPT-2, Radford et al. 2019): printable Latin-1 characters
/// stand for themselves, the 68 others for U+0100 and on, in their order.
std::string to_byte_alphabet(std::string_view bytes);

/// The bytes that `text` stands for; nothing when a character is not of the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace plimsoll
