#pragma once

#include <string>

#include "core/plan/durability.h"

namespace plimsoll {

/// From now on a page of mapped memory that the system cannot give (SIGBUS) ends the program with words and ExitCode::kEnvironment
/// instead of by the signal. Pages are lost where a disk or a quota is full beneath the index of a run file's journal, which
/// SQLite maps, or where memory is damaged. Call before the run that writes `run_file` begins.
void end_on_lost_pages(Durability durability, const std::string& run_file);

}  // namespace plimsoll
