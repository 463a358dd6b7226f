#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// What a command is about to write.
enum class FileKind { kRunFile, kJson, kSvg, kExported, kPerfetto, kTraceCsv };

/// True when `path` is a file that begins as files of that kind do.
bool is_of_kind(const std::string& path, FileKind kind);

/// Fails unless the folder of `path` exists and may be written and `path` itself is free or a regular file: a new file is
/// renamed into place, and would take that of a device or a pipe.
Result<void> check_place(const std::string& path);

/// Fails as check_place does, and when `path` is a file of another kind, which a slip must not destroy.
Result<void> check_replaceable(const std::string& path, FileKind kind);

}  // namespace plimsoll
