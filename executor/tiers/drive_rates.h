#pragma once

#include <string>

#include "core/base/result.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// What a folder's drive reaches for the executor.
struct DriveRates {
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  Bytes measured;            ///< bytes that were written, and read back
  std::string way;           ///< Drive::describe
  std::string warning;       ///< Drive::warning
  Bytes free;                ///< in the folder, before
};

/// Writes up to 256 MiB (a slow drive less), writes them again and reads them, in two seconds at most, the way the
/// executor does; the first pass, which finds fresh blocks, is not counted. An error when the folder cannot be used.
Result<DriveRates> measure_drive_rates(const DriveOptions& options);

}  // namespace plimsoll
