#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll {

/// What will be put into a run file.
struct RunFileContents {
  Bytes plans;                    ///< as JSON
  std::int64_t instructions = 0;  ///< of the plans' bodies
  std::int64_t events = 0;
  std::int64_t steps = 0;

  RunFileContents& operator+=(const RunFileContents& other);
};

/// A plan, and traces of so many of its steps.
RunFileContents contents_of(const Plan& plan, std::int64_t traced_steps);

/// The most that the file and its journal take while they are written, by the lengths of rows in SQLite's format. Text
/// in a log and samples of memory are not in it.
Bytes room_for_run_file(const RunFileContents& contents);

}  // namespace plimsoll
