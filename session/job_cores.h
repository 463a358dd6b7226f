#pragma once

#include <cstdint>

#include "executor/collectives/job.h"

namespace plimsoll {

/// The cores that the ranks of a job may use. A launcher may tie each rank to cores of its own, or let all run everywhere.
struct JobCores {
  std::int64_t own = 1;  ///< workers for this rank: its share of the cores that it and others may use
  double all = 1;        ///< that all ranks have together
};

/// Every rank must call; all hear the same `all`.
JobCores share_cores(Job& job);

}  // namespace plimsoll
