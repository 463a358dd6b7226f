#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/quantity.h"

namespace plimsoll {

/// What keeps the bytes of a file system, as far as it matters to plans.
enum class FileSystemSort : std::uint8_t { kDrive, kMemory, kNetwork, kLayered, kUserSpace };

/// What a folder lies on.
struct FileSystem {
  std::string name;  ///< "ext4", "fuse.sshfs"; hexadecimal magic when nobody named it
  FileSystemSort sort = FileSystemSort::kDrive;
  Bytes free;  ///< that this user may still write; kMaxParsedBytes when the file system does not say
  bool read_only = false;

  /// Why its rates may not be a drive's; empty when nothing speaks against it.
  [[nodiscard]] std::string_view warning() const;
};

/// Asks statfs, and /proc/self/mountinfo for the name. Throws EnvironmentError when there is no such folder.
FileSystem file_system_of(const std::string& folder);

/// What statfs's f_type means; only name and sort are filled in.
FileSystem file_system_of_type(std::uint32_t type);

/// What mount calls a file system ("nfs4", "fuse.sshfs") means; only name and sort are filled in.
FileSystem file_system_of_name(std::string_view name);

/// The type of the file system of that device in the text of /proc/self/mountinfo; empty when it is not there.
std::string_view mounted_type(std::string_view mountinfo, unsigned major, unsigned minor);

}  // namespace plimsoll
