#include "executor/collectives/job.h"

namespace plimsoll {

bool has_job_support() { return false; }

Result<std::unique_ptr<Job>> join_job() {
  return fail({.kind = ErrorKind::kInput,
               .what = "this build has no MPI, so it runs on one rank only",
               .where = {},
               .remedy = "apt-get install libopenmpi-dev openmpi-bin, then ./setup again"});
}

}  // namespace plimsoll
