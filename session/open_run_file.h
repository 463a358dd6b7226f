#pragma once

#include <memory>

#include "executor/tiers/drive_folder_lock.h"
#include "formats/runs/run_file_writer.h"
#include "session/run_session.h"

namespace plimsoll {

/// Makes the request's run file; one that is to be replaced goes. A file that cannot be made is not left behind. Throws
/// EnvironmentError.
std::unique_ptr<RunFileWriter> open_run_file(const RunRequest& request);

/// Removes a run file and the companions that the database keeps beside it while it is open.
void remove_run_file(const std::string& path);

/// Removes the training states that an older run of that name left, but for its checkpoint; none when the run goes on from one of
/// them. Throws EnvironmentError.
void remove_older_states(const RunRequest& request);

/// Keeps other runs' SSD data out of the request's folder: two runs on one drive would each count on all of its room and rates.
/// Null where the run has no drive.
Result<std::unique_ptr<DriveFolderLock>> lock_drive(const RunRequest& request);

}  // namespace plimsoll
