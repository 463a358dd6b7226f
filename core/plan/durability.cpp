#include "core/plan/durability.h"

#include <fmt/format.h>

namespace plimsoll {

std::string_view to_text(Durability durability) {
  switch (durability) {
    case Durability::kNone: return "none";
    case Durability::kCheckpoint: return "checkpoint";
    case Durability::kStep: return "step";
  }
  return "none";
}

Result<Durability> parse_durability(std::string_view text) {
  for (const Durability one : {Durability::kNone, Durability::kCheckpoint, Durability::kStep}) {
    if (text == to_text(one)) return one;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no durability", text),
               .where = "--durability",
               .remedy = "none, checkpoint or step"});
}

}  // namespace plimsoll
