#include "cli/options/size_option.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

/// A number alone is bytes, and no computer's memory has so few: a unit was forgotten.
constexpr Bytes kFewestWithoutUnit{std::int64_t{1} << 20};

bool is_number_alone(const std::string& text) { return text.find_first_not_of("0123456789.") == std::string::npos; }

}  // namespace

Result<Bytes> read_size(std::string_view option, const std::string& text) {
  auto size = parse_bytes(text);
  if (size) return *size;
  Error error = size.error();
  error.where = option;
  return fail(std::move(error));
}

Result<Bytes> read_large_size(std::string_view option, const std::string& text) {
  auto size = read_size(option, text);
  if (!size || !is_number_alone(text) || *size == Bytes{0} || *size >= kFewestWithoutUnit) return size;
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is {} bytes", text, text),
               .where = std::string(option),
               .remedy = fmt::format("write its unit: {}GiB, {}MiB", text, text)});
}

}  // namespace plimsoll
