#include "cli/options/parse_rate.h"

#include <fmt/format.h>

#include "core/base/quantity.h"
#include "formats/text/csv.h"

namespace plimsoll {

Result<double> parse_rate(const std::string& text, const std::string& option) {
  if (const auto number = parse_number(text); number && *number > 0 && *number < 1e18) return *number;
  const bool bits = text.find('b') != std::string::npos;  // "gb" beside "GB"
  const auto bytes = parse_bytes(text.ends_with("/s") ? text.substr(0, text.size() - 2) : text);
  if (bytes && bytes->count > 0 && !bits) return static_cast<double>(bytes->count);
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no rate", text),
               .where = option,
               .remedy = "write it in bytes, as in 1e9, 1GB/s or 12.5GB/s"});
}

}  // namespace plimsoll
