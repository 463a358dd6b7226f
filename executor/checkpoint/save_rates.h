#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "formats/models/safetensors_writer.h"

namespace plimsoll {

/// How fast training states come onto the disk of a folder.
struct SaveRates {
  double bytes_per_second = 0;
  double seconds_each = 0;  ///< of a file of next to no bytes: made, waited for, renamed
  Bytes measured;           ///< of the larger of the two files
};

/// Bytes as they lie in memory before they are saved, for the trial's call of that number; not empty, valid until the next call.
using TrialBytes = std::function<std::span<const std::byte>(std::size_t call)>;

/// Of the larger of the trial's files.
Bytes trial_bytes(Bytes state);

/// Writes a small file and one of `state` bytes (at most 64 MiB) beside `run_file`, each as a state is written, up to nine
/// times, and takes the medians. Leaves nothing behind. A disk that fails throws EnvironmentError.
Result<SaveRates> measure_save_rates(const std::string& run_file, Bytes state, WritePlace place, const TrialBytes& bytes);

}  // namespace plimsoll
