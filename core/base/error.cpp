#include "core/base/error.h"

namespace plimsoll {

std::string Error::text() const {
  std::string line = where.empty() ? what : where + ": " + what;
  if (!remedy.empty()) line += " (" + remedy + ")";
  return line;
}

}  // namespace plimsoll
