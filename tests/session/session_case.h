#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "session/run_session.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

/// This computer with 32 MiB for the device, as much for the host and 64 MiB on a drive, and that many compute threads.
Platform own_machine(std::int64_t threads = 1);

/// Trains on the repository's text; the caller changes what the test is about. Without a warm-up, under catalogue
/// costs.
RunRequest small_request(const TemporaryFolder& folder, Family family = Family::kGpt2, std::int64_t steps = 20);

/// A request that runs exactly this strategy.
RunRequest with_strategy(RunRequest request, const Strategy& strategy);

/// The same on a machine that has no drive.
RunRequest without_drive(RunRequest request);

/// Runs to the end, or fails the test with the session's error.
RunOutcome run_to_end(const RunRequest& request);

/// The same, and its losses.
std::vector<double> losses_of(const RunRequest& request);
std::vector<double> losses_of(const RunOutcome& outcome);

/// Every strategy that the search considers here (resident, recompute, the CPU optimizer with gradients on the device and
/// on the host, ...), and that of the warm-up.
std::vector<Strategy> executable_strategies();

/// Names of the folder's files, sorted.
std::vector<std::string> files_in(const TemporaryFolder& folder);

}  // namespace plimsoll::test
