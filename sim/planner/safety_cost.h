#pragma once

#include <optional>

#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "formats/runs/answers.h"
#include "formats/runs/safety_answer.h"

namespace plimsoll {

/// How fast states come onto the disk.
struct SaveSpeed {
  double write_bytes_per_second = 0;
  std::optional<double> read_bytes_per_second;  ///< of the drive that states lie on; nothing where none do
  double seconds_each = 0;                      ///< beside the bytes: making the file, waiting for the disk
  std::string source;
};

/// The platform's drive as its links are described; nothing where it has none.
std::optional<SaveSpeed> save_speed(const Platform& platform);

/// What `safety` costs a training. `on_drive`: bytes of its state that lie on a drive and are read there first. Time is nothing
/// without a speed. With Durability::kStep every step ends before the next begins; what would have overlapped is not in the time.
SafetyAnswer safety_cost(const ModelSpec& spec, const Recipe& recipe, const Safety& safety, Bytes on_drive,
                         const std::optional<SaveSpeed>& speed, double step_seconds);

/// What each state's time is of the steps between two; nothing where either is unknown.
std::optional<double> step_share(const SafetyAnswer& answer, double step_seconds);

/// Bytes of the training state that the answer's plan keeps on a drive.
Bytes state_on_drive(const FitAnswer& answer);

}  // namespace plimsoll
