#pragma once

#include <string>

#include "core/base/result.h"
#include "executor/tiers/drive.h"
#include "formats/machines/spread.h"

namespace plimsoll {

/// What a folder's drive reaches for the executor, in bytes a second.
struct DriveRates {
  Spread read;
  Spread write;
  Spread mixed_read;    ///< while it writes as well
  Spread mixed_write;   ///< while it reads as well
  Bytes measured;       ///< bytes that were written, and read back
  Bytes filled;         ///< bytes that were written before
  std::string way;      ///< Drive::describe
  std::string warning;  ///< Drive::warning
  Bytes free;           ///< in the folder, before
};

/// How much to move.
struct DriveTrial {
  Bytes span = 256 * kMiB;  ///< of the file
  Bytes fill;               ///< written over it first, again and again, so that the drive's own cache is full
  bool mixed = false;       ///< also reads and writes at once
};

/// Writes up to `span` (a slow drive less), writes it again and reads it, in two seconds at most beside `fill`, the way
/// the executor does; the first pass, which finds fresh blocks, is not counted. Rates are those of single pieces of
/// 32 MiB. An error when the folder cannot be used.
Result<DriveRates> measure_drive_rates(const DriveOptions& options, const DriveTrial& trial = {});

}  // namespace plimsoll
