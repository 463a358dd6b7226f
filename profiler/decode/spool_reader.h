#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "profiler/decode/spool_records.h"

namespace plimsoll {

/// What a spool turned out to hold.
struct SpoolSummary {
  SpoolHeader header;
  std::uint64_t blocks = 0;
  std::uint64_t records = 0;
  bool closed = false;          ///< the capture ended it
  std::uint64_t cut_bytes = 0;  ///< after the last whole block: a block that was being written, or damage
  std::string trouble;          ///< in words, why the rest cannot be read; empty when there is none
};

/// The first bytes alone. Refused as by read_spool.
Result<SpoolHeader> read_spool_header(const std::string& path);

/// Reads a spool and gives each record to `take`, block after block; a block is read whole before its first record is given.
/// Stops behind the last whole block and says so in the summary. Refused: what does not begin as a spool, and other versions.
Result<SpoolSummary> read_spool(const std::string& path, const std::function<void(const SpoolRecord&)>& take);

}  // namespace plimsoll
