#pragma once

#include "cli/options/run_flags.h"
#include "session/run_session.h"

namespace plimsoll {

/// Opens the model or plan, looks at this computer, and puts the request together. Errors name the option.
Result<RunRequest> make_run_request(const RunFlags& flags);

}  // namespace plimsoll
