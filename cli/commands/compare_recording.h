#pragma once

#include <optional>
#include <string>

#include "cli/program/answered.h"
#include "core/base/result.h"

namespace plimsoll {

/// Whether the file is what another profiler (or `plimsoll profile`) recorded: no run file with a plan.
bool is_recording(const std::string& file);

/// `compare PREDICTED MEASURED` where the measured side is somebody else's run: units of work by class, layer and order.
Result<Answered> compare_recording(const std::string& predicted, const std::string& measured, std::optional<double> threshold,
                                   bool json);

}  // namespace plimsoll
