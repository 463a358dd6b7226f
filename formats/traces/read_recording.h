#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/recording.h"

namespace plimsoll {

/// Reads a trace of any kind that this program knows, by what is in it and not by its name: a Chrome or Kineto trace (plain or
/// packed), an SQLite export of Nsight Systems, a run file with device activity. The error of another file says what it may be.
/// `everything`: what a Chrome trace holds of unknown categories becomes ranges to draw.
Result<Recording> read_recording(const std::string& path, bool everything = false);

}  // namespace plimsoll
