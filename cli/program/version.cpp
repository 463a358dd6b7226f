#include "cli/commands.h"

namespace plimsoll {

const char* version() { return PLIMSOLL_VERSION; }

}  // namespace plimsoll
