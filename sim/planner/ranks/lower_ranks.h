#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "sim/planner/ranks/rank_job.h"

namespace plimsoll {

/// The plan of one rank of a job that check_job lets pass. Loss and weights after any step are, bit for bit, those of one rank
/// that accumulates the same micro-batches, as long as the schedule's backward passes keep their order on each stage and a
/// replica passes one micro-batch a step; more of them are first summed within each replica.
Result<Plan> lower_rank(const RankJob& job, std::uint32_t rank);

/// Of all ranks. Each is verified, and all together (order_ranks).
Result<std::vector<Plan>> lower_ranks(const RankJob& job);

/// "1f1b over 2 stages, 4 micro-batches, 2 replicas": for people.
std::string describe(const RankJob& job);

}  // namespace plimsoll
