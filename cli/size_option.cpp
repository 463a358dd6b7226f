#include "cli/size_option.h"

namespace plimsoll {

Result<Bytes> read_size(std::string_view option, const std::string& text) {
  auto size = parse_bytes(text);
  if (size) return *size;
  Error error = size.error();
  error.where = option;
  return fail(std::move(error));
}

}  // namespace plimsoll
