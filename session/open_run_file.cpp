#include "session/open_run_file.h"

#include <filesystem>

namespace plimsoll {

void remove_run_file(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::error_code ignored;  // what is not there need not go
    std::filesystem::remove(path + suffix, ignored);
  }
}

std::unique_ptr<RunFileWriter> open_run_file(const RunRequest& request) {
  if (request.replace) remove_run_file(request.output);
  const bool existed = std::filesystem::exists(request.output);
  try {
    return std::make_unique<RunFileWriter>(request.output, request.meta);
  } catch (const EnvironmentError&) {
    if (!existed) remove_run_file(request.output);
    throw;
  }
}

void remove_older_states(const RunRequest& request) {
  const StateFiles files = state_files_of(request.output);
  for (const std::string& path : {files.checkpoint, files.previous, files.steps[0], files.steps[1]}) {
    std::error_code ignored;  // neither may exist
    if (!request.resume.empty() && std::filesystem::equivalent(path, request.resume, ignored)) return;
  }
  remove_states_but_checkpoint(files);
}

Result<std::unique_ptr<DriveFolderLock>> lock_drive(const RunRequest& request) {
  const Platform& machine = request.plan ? request.plan->platform : request.machine;
  if (!machine.space(SpaceKind::kSsd)) return nullptr;
  auto lock = DriveFolderLock::acquire(request.drive.folder);
  if (!lock) return fail(lock.error());
  return std::make_unique<DriveFolderLock>(std::move(*lock));
}

}  // namespace plimsoll
