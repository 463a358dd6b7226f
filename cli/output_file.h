#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// What a command is about to write.
enum class FileKind { kRunFile, kJson, kSvg };

/// True when `path` is a file that begins as files of that kind do.
bool is_of_kind(const std::string& path, FileKind kind);

/// Fails, kEnvironment, unless the folder of `path` exists and may be written.
Result<void> check_folder_of(const std::string& path);

/// Fails when `path` cannot be made, or is a folder or a file of another kind, which a slip must not destroy.
Result<void> check_replaceable(const std::string& path, FileKind kind);

}  // namespace plimsoll
