#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "profiler/decode/spool_reader.h"

namespace plimsoll {

/// What the spools of a program's processes say together.
struct DecodedSpools {
  Recording recording;             ///< on the calendar's clock, from the first spool's beginning
  std::vector<std::string> notes;  ///< for the run's log: how well clocks agree, what was cut off or lost
  double clock_residual_ns = 0;    ///< the worst of the spools'
  std::uint64_t functions_left_out = 0;  ///< of CUDA, whose calls only ask and were not recorded: the most of a spool's
};

/// Reads spools, one of each process. A spool that was cut off gives what its whole blocks hold. Fails when one cannot be read.
Result<DecodedSpools> decode_spools(const std::vector<std::string>& paths);

}  // namespace plimsoll
