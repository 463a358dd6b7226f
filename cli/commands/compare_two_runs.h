#pragma once

#include <optional>
#include <string>

#include "cli/program/answered.h"
#include "core/base/result.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// A run file that has a measured trace and its plan, and where it was read from.
struct OpenedRun {
  const RunFile& file;
  std::string path;
};

/// `run` beside `other`, whatever plan each ran: a step's parts, peaks of memory, and whether their losses are the same bits. What
/// differs is a share of the other's.
Result<Answered> compare_two_runs(const OpenedRun& run, const OpenedRun& other, std::optional<double> threshold, bool json);

}  // namespace plimsoll
