#pragma once

#include <cstdint>
#include <span>

#include "session/run_session.h"

namespace plimsoll {

/// Where a training stands when its room is looked at.
struct RoomQuestion {
  std::int64_t first_step = 0;  ///< steps done
  bool begun = false;           ///< its run file is there, and older states are gone
  Bytes held;                   ///< of SSD data that it keeps already
  DataMark data;                ///< which states name
};

/// Compares what a run by these plans (one, or one of each rank) will write beside its run file (states of
/// --durability, the run file with its journal, SSD data and saved weights that lie on the same file system) with what
/// is free there, and weights elsewhere with what is free there. Refused, kEnvironment, with both and what is missing.
/// What is there already and will be written over or removed counts. Throws EnvironmentError where the folder cannot be
/// asked.
Result<void> check_room(const RunRequest& request, std::span<const Plan> plans, const RoomQuestion& question);

/// Of SSD data that the plan keeps.
Bytes drive_data(const Plan& plan);

/// The step that the request's training begins with, as far as its checkpoint's header says it.
std::int64_t first_step_of(const RunRequest& request);

/// What check_room counts: the most bytes that the run takes there beyond those that are taken now.
Bytes room_needed(const RunRequest& request, std::span<const Plan> plans, const RoomQuestion& question);

}  // namespace plimsoll
