#pragma once

#include <string>

#include "formats/models/safetensors_writer.h"

namespace plimsoll {

/// How fast training states come onto the disk of a folder.
struct SaveRates {
  double bytes_per_second = 0;
  double seconds_each = 0;  ///< of a file of next to no bytes: made, waited for, renamed
  Bytes measured;           ///< of the larger of the two files
};

/// Writes a small file and one of `state` bytes (at most 64 MiB) beside `run_file`, each as a state is written, three times and
/// takes the medians. Leaves nothing behind. A disk that fails throws EnvironmentError.
Result<SaveRates> measure_save_rates(const std::string& run_file, Bytes state, WritePlace place);

}  // namespace plimsoll
