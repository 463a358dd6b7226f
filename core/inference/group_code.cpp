#include "core/inference/group_code.h"

#include <fmt/format.h>

namespace plimsoll {

Bytes GroupCode::bytes_of(std::int64_t numbers, DType compute) const {
  if (!exists()) return Bytes(numbers * size_of(compute));
  constexpr std::int64_t kScaleAndLeast = 2 * 2;
  const std::int64_t groups = (numbers + group - 1) / group;
  return Bytes(groups * (group * bits / 8 + kScaleAndLeast));
}

Result<GroupCode> group_code_of_bits(std::int64_t bits, std::string_view option) {
  if (bits == 0 || bits == 16 || bits == 32) return GroupCode{};
  if (bits == 4 || bits == 8) return GroupCode{.bits = bits};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} bits are no way to keep numbers that is known", bits),
               .where = std::string(option),
               .remedy = "choose 16, 8 or 4"});
}

}  // namespace plimsoll
