#pragma once

#include <optional>
#include <string>

#include "cli/program/answered.h"
#include "core/base/result.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// `run` beside `other`, whatever plan each ran: a step's parts, peaks of memory, and whether their losses are the same bits.
Result<Answered> compare_two_runs(const RunFile& run, const RunFile& other, std::optional<double> threshold, bool json);

}  // namespace plimsoll
