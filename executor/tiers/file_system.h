#pragma once

#include <cstdint>
#include <string>

#include "core/base/quantity.h"

namespace plimsoll {

/// What a folder lies on.
struct FileSystem {
  std::string name;     ///< "ext4", "tmpfs"; hexadecimal magic when nobody named it
  std::string warning;  ///< why its rates may not be a drive's; empty when nothing speaks against it
  Bytes free;           ///< that this user may still write
};

/// Asks statfs. Throws EnvironmentError when there is no such folder.
FileSystem file_system_of(const std::string& folder);

/// What statfs's f_type means, with the warning that goes with it; `free` stays 0.
FileSystem file_system_of_type(std::uint32_t type);

}  // namespace plimsoll
