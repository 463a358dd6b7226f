#pragma once

#include <cstdint>

#include "executor/data/data_mark.h"
#include "executor/executor.h"
#include "session/run_session.h"

namespace plimsoll {

/// The mark of the request's data. Refused where the checkpoint to go on from was trained on other data, unless that is
/// asked for.
Result<DataMark> mark_of_data(const RunRequest& request);

/// Gives the executor the state that the training begins with: weights from the seed or a file, adapters from a folder, or
/// what a checkpoint holds. Returns the first step.
Result<std::int64_t> fill_state(Executor& executor, const RunRequest& request);

/// Writes what was trained, weights or adapters, to where the request wants it. Nothing when it wants none.
Result<void> save_trained(const Executor& executor, const RunRequest& request);

}  // namespace plimsoll
