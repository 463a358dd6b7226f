#include "core/base/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace plimsoll {

std::string digest_of(std::string_view text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

}  // namespace plimsoll
