#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "executor/collectives/job.h"

namespace plimsoll {

/// Where the processes of a job meet that no MPI started: what torchrun, and a shell's loop, say in the environment.
struct Rendezvous {
  std::string address;      ///< of rank 0's computer: a name or a number
  std::uint16_t port = 0;   ///< on which rank 0 listens
  std::uint32_t rank = 0, ranks = 1;
  std::chrono::seconds patience{60};  ///< how long a rank waits until all have come
};

/// Meets the other processes and connects to each by TCP. Errors say who did not come, or why not.
Result<std::unique_ptr<Job>> join_job_at(const Rendezvous& place);

}  // namespace plimsoll
