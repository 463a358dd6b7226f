#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "sim/planner/migrate_plan.h"

namespace plimsoll::test {

/// Fills memories with junk and old states with bytes that tell state and place, carries the migration's copies out byte
/// by byte in a random order that its dependencies and queues allow, and names the first state of `next` that is not
/// whole; empty when all are.
std::string first_lost_state(const Plan& old, const Plan& next, std::int64_t steps_done, const Plan& migration,
                             std::uint64_t seed);

/// Two layouts of one training that overlap as they like.
struct RandomMigration {
  Plan old;
  Plan next;
  std::int64_t steps_done = 0;
  Bytes spare;  ///< host memory beside both arenas
  MigrateOptions options;
};

RandomMigration draw_migration(std::mt19937_64& random);

}  // namespace plimsoll::test
