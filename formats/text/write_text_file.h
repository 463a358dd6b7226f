#pragma once

#include <filesystem>
#include <string_view>

namespace plimsoll {

/// Makes `path` hold `text` in one atomic step: through `path.tmp`, synced and renamed, so that an older file stays whole
/// until then and nothing is left over when the disk refuses. Throws EnvironmentError.
void write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace plimsoll
