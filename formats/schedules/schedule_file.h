#pragma once

#include <string>
#include <string_view>

#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// Reads orders from a file: JSON with the key "orders" as `schedule --json` writes it, or the CSV of PyTorch's
/// pipeline schedules (with or without communication): a row a rank, an action a cell, an empty cell where a rank
/// idles. Says line and cell, or the key, of what cannot be read. The orders are not verified.
Result<PipelineSchedule> read_schedule_file(const std::string& path);

/// The same of a text in either form; `where` is named in errors.
Result<PipelineSchedule> read_schedule_csv(std::string_view text, const std::string& where);
Result<PipelineSchedule> read_schedule_json(std::string_view text, const std::string& where);

/// The orders as PyTorch's schedules load them ("compute_only").
std::string schedule_csv(const PipelineSchedule& schedule);

}  // namespace plimsoll
