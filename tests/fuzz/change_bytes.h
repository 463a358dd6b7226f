#pragma once

#include <random>
#include <string>
#include <vector>

namespace plimsoll::test {

/// `text` with one to four changes: bytes replaced, cut, doubled, or overwritten by numbers and words at the edges of
/// what readers expect; sometimes a stretch of one of `others` is put in. The same engine, the same changes.
std::string changed_bytes(std::string text, const std::vector<std::string>& others, std::mt19937_64& random);

}  // namespace plimsoll::test
