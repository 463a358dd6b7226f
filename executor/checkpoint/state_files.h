#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// The files beside a run file that hold training states.
struct StateFiles {
  std::string checkpoint;
  std::string previous;             ///< the checkpoint before that one
  std::array<std::string, 2> steps; ///< of --durability step: written in turn, so that one is always whole
};

StateFiles state_files_of(const std::string& run_file);

/// Lets `previous` be what `checkpoint` is now, before that is replaced: a second name, no copy. What `previous` was becomes
/// `checkpoint`.tmp, for the next one to be written over (WritePlace::kOverSpare). At every moment `checkpoint` is there. Nothing
/// happens where there is no checkpoint, or on a file system that knows no second names. Throws EnvironmentError.
void keep_previous(const StateFiles& files);

/// The run file beside which a file of that name is one of a run's states; empty when it is none by its name.
std::string run_file_of_state(const std::string& path);

/// Removes what only a run in progress needs. Throws EnvironmentError.
void remove_step_states(const StateFiles& files);
/// The same, the checkpoint before the last, and what a run that was killed had not finished.
void remove_states_but_checkpoint(const StateFiles& files);

/// A file that holds a training state, and how many steps it says it holds.
struct FoundState {
  std::string path;
  std::int64_t steps_done = 0;
};

/// What there is to go on from.
struct FoundStates {
  std::optional<FoundState> best;    ///< the one of most steps that is whole, as far as was looked
  std::vector<std::string> damaged;  ///< why others are not
};

/// Of the files that exist the one to go on from: the latest. Of a step's two files the one that was being written when the
/// run ended is damaged, so these are compared with their checksums; a checkpoint is taken at its header's word, and
/// compared when it is loaded. Names that are empty are passed over.
FoundStates find_states(const StateFiles& files);

/// Beside a state that is damaged the run's latest other one of which every byte is whole, if there is one.
std::optional<FoundState> find_other_state(const std::string& damaged);

}  // namespace plimsoll
