#include "sim/stack/fp8_setup.h"

#include <fmt/format.h>

namespace plimsoll {

std::string_view to_text(Fp8Scaling scaling) {
  switch (scaling) {
    case Fp8Scaling::kNone: return "none";
    case Fp8Scaling::kDelayed: return "delayed";
    case Fp8Scaling::kCurrent: return "current";
  }
  return "?";
}

Result<Fp8Scaling> parse_fp8_scaling(std::string_view text) {
  for (const auto scaling : {Fp8Scaling::kNone, Fp8Scaling::kDelayed, Fp8Scaling::kCurrent}) {
    if (to_text(scaling) == text) return scaling;
  }
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is no scaling of fp8", text), .where = "--fp8",
               .remedy = "choose delayed, current or none"});
}

}  // namespace plimsoll
