#pragma once

namespace plimsoll {

// What `plimsoll profile` and the library that it puts into a program agree upon.

/// Folder in which each process of the program leaves its spool.
inline constexpr const char* kFolderVariable = "PLIMSOLL_SPOOL_FOLDER";
/// The libcupti to load; unset: the program's own, or the system's.
inline constexpr const char* kCuptiVariable = "PLIMSOLL_CUPTI";
/// Files are named by process number and one of these: its records, or why there are none.
inline constexpr const char* kSpoolSuffix = ".spool";
inline constexpr const char* kReasonSuffix = ".reason";

}  // namespace plimsoll
