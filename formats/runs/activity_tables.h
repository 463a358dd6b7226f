#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "formats/runs/database.h"

namespace plimsoll {

/// How Nsight packs a process, and a thread of it, into one number.
constexpr std::int64_t global_process(std::uint32_t process) { return std::int64_t{process} << 24; }
constexpr std::int64_t global_thread(std::uint32_t process, std::int64_t thread) {
  return global_process(process) | (thread & 0xffffff);
}

/// Adds the recording to a run file that is closed: in the tables and columns that Nsight Systems exports, in one transaction.
/// Refused (kInput) when the file holds a recording already. Throws EnvironmentError when the disk fails.
Result<void> add_recording(const std::string& run_file, const Recording& recording);

}  // namespace plimsoll
