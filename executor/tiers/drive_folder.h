#pragma once

#include <string>

#include "core/base/result.h"
#include "executor/tiers/file_system.h"

namespace plimsoll {

/// What the folder lies on, when `needed` bytes of SSD data can go there; else, kEnvironment, why not: there is none,
/// it is a file, mounted read-only, closed to this user, or has less room than is needed. A network and memory are no
/// refusal but a warning (FileSystem::warning).
Result<FileSystem> check_drive_folder(const std::string& folder, Bytes needed = {});

/// A file in the folder that has no name, or loses it at once where the file system cannot make such files. Throws
/// EnvironmentError when the folder takes none.
int open_nameless_file(const std::string& folder);

}  // namespace plimsoll
