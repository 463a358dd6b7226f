#pragma once

#include <memory>

#include "formats/runs/run_file_writer.h"
#include "session/run_session.h"

namespace plimsoll {

/// Makes the request's run file; one that is to be replaced goes. A file that cannot be made is not left behind. Throws
/// EnvironmentError.
std::unique_ptr<RunFileWriter> open_run_file(const RunRequest& request);

/// Removes a run file and the companions that the database keeps beside it while it is open.
void remove_run_file(const std::string& path);

}  // namespace plimsoll
