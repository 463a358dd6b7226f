#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// One stage of a whole training. Stages lie beside each other where they can: `seconds` of all stages add up to the
/// training's, `work_seconds` are what the stage's own resource is busy for, hidden or not.
struct TrainingStage {
  std::string name;
  double seconds = 0;
  double work_seconds = 0;
};

/// What draws power: its mean over the training, and where its watts are from.
struct PowerPart {
  std::string name;
  double watts = 0;
  std::string origin;
};

/// Time, energy, money and wear of a whole training, as far as they are known.
struct TrainingAnswer {
  double tokens = 0;   ///< 0 for a model that reads images
  double samples = 0;  ///< sequences or images
  std::optional<double> epochs;  ///< where the size of the data set is known
  double steps = 0;
  double seconds = 0;
  double seconds_low = 0;
  double seconds_high = 0;
  std::vector<TrainingStage> stages;
  std::string limit;  ///< the stage that most of the time goes to, and the resource that it is
  std::vector<PowerPart> power;
  std::optional<double> energy_kwh;  ///< at the wall; nothing where the board's power is not known
  std::optional<double> cost;        ///< in the money that prices were given in; nothing without a price
  std::optional<double> rent;        ///< the part of `cost` that hours make
  std::optional<double> electricity; ///< and that energy makes
  double drive_written = 0;          ///< bytes
  double drive_checkpoints = 0;      ///< of these, bytes of checkpoints
  std::optional<double> drive_rated; ///< bytes that all drives are rated for
  std::vector<std::string> assumed;

  /// Share of the drives' rated life that the training takes.
  [[nodiscard]] std::optional<double> wear() const {
    if (!drive_rated) return std::nullopt;
    return drive_written / *drive_rated;
  }
};

/// The object "training" of the --json answers, on one line; null members where nothing is known.
std::string to_json(const TrainingAnswer& answer);

}  // namespace plimsoll
