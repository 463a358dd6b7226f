#include "formats/text/complete_utf8.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Bytes of a character that begins with `lead`; 1 for what begins none.
std::size_t length_of(unsigned char lead) {
  if (lead >= 0xf0 && lead < 0xf8) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xc0 && lead < 0xe0 ? 2 : 1;
}

}  // namespace

std::size_t complete_utf8(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return length_of(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace plimsoll
