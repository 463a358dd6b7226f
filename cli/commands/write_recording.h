#pragma once

#include <string>
#include <vector>

#include "core/trace/recording.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// Writes a run file of a recording: its activity in Nsight's tables, its marked steps as the trace "recorded" (one event for
/// each piece of device work, counted within its step), its memory as samples, and the notes and losses as lines of the log. It is
/// written beside and takes its place when it is whole: a full disk leaves nothing behind, and a file that was there as it was.
Result<void> write_recording(const std::string& path, const RunMeta& meta, const Recording& recording,
                             const std::vector<std::string>& notes);

/// The run file's header for a recording that this program makes or imports now.
RunMeta meta_of_recording(std::string kind, std::string command, std::string machine);

/// What the device did, in some lines: work by kind, by stream, the kernels that took most time, memory, losses.
std::string recording_text(const Recording& recording);
/// The same as an object for --json.
std::string recording_json(const Recording& recording);

}  // namespace plimsoll
