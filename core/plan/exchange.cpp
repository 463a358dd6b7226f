#include "core/plan/exchange.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 7> kNames{"send",       "receive",    "all_reduce",     "reduce_scatter",
                                                   "all_gather", "all_to_all", "all_to_all_back"};

}  // namespace

ElementPart part_of(std::int64_t elements, std::int64_t members, std::int64_t index) {
  const std::int64_t room = longest_part(elements, members);
  const std::int64_t first = std::min(elements, room * index);
  return {first, std::min(elements, first + room) - first};
}

std::int64_t longest_part(std::int64_t elements, std::int64_t members) { return (elements + members - 1) / members; }

Bytes reduction_workspace(std::int64_t elements, std::int64_t members, DType dtype) {
  return Bytes((members - 1) * longest_part(elements, members) * size_of(dtype));
}

std::string_view to_text(ExchangeKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<ExchangeKind> parse_exchange_kind(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<ExchangeKind>(found - kNames.begin());
}

}  // namespace plimsoll
