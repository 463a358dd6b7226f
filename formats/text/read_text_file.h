#pragma once

#include <filesystem>
#include <string>

#include "core/base/quantity.h"
#include "core/base/result.h"

namespace plimsoll {

/// The whole content of the regular file `path`. A missing file, one that is no regular file or one above `limit` is an
/// input error; a failing disk throws EnvironmentError.
Result<std::string> read_text_file(const std::filesystem::path& path, Bytes limit);

}  // namespace plimsoll
