#include "formats/published/published_row.h"

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr double kLargestWhole = 9.0e15;  // below 2^53

}  // namespace

std::string_view PublishedRow::field(std::string_view column) const {
  for (const auto& [name, text] : fields) {
    if (name == column) return text;
  }
  return {};
}

std::optional<std::int64_t> PublishedRow::whole(std::string_view column) const {
  const auto number = parse_number(field(column));
  if (!number || *number < 1 || *number > kLargestWhole) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*number);
  if (static_cast<double>(whole) != *number) return std::nullopt;
  return whole;
}

std::string_view to_text(PublishedTable table) {
  switch (table) {
    case PublishedTable::kMemory: return "memory";
    case PublishedTable::kThroughput: return "throughput";
    case PublishedTable::kOffload: return "offload";
    case PublishedTable::kParallel: return "parallel";
    case PublishedTable::kOperators: return "operators";
    case PublishedTable::kInference:
      return "inference";
  }
  return "?";
}

}  // namespace plimsoll
