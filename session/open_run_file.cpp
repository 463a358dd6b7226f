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

}  // namespace plimsoll
