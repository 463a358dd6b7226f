#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// A 64-bit fingerprint of `text` as 16 hexadecimal digits (XXH3, seed 0): equal texts, equal digests, on every machine.
std::string digest_of(std::string_view text);

}  // namespace plimsoll
