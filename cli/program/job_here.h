#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "executor/collectives/job.h"

namespace plimsoll {

/// Whether a launcher started several processes of which this is one: mpirun, or one that says RANK, WORLD_SIZE, MASTER_ADDR.
bool is_in_a_job();

/// Joins them, as the environment says. mpirun's word goes before the others'; alone is a job of one rank.
Result<std::unique_ptr<Job>> join_this_job();

/// That command on so many ranks, started the way this process was: by mpirun, by torchrun, or by whoever says RANK.
std::string on_ranks(const std::string& command, std::uint32_t ranks);

/// Which of its computer's GPUs is this rank's: LOCAL_RANK, or its place among the ranks of its computer. All ranks must call.
std::uint32_t own_device(Job& job);

}  // namespace plimsoll
