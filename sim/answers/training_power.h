#pragma once

#include <optional>
#include <vector>

#include "formats/training/training_answer.h"
#include "sim/answers/machine_facts.h"

namespace plimsoll {

/// Shares of the training in which a kind of hardware works.
struct BusyShares {
  double gpu = 0;
  double cpu = 0;
  double read = 0;   ///< drives
  double write = 0;
};

/// Mean watts of all GPUs, CPUs, memory, drives and boards. A part that nothing is known of is not there.
std::vector<PowerPart> power_parts(const MachineFacts& machine, const BusyShares& busy);

/// Energy at the wall; nothing where a GPU's power is not known.
std::optional<double> energy_kwh(const MachineFacts& machine, const std::vector<PowerPart>& parts, double seconds);

}  // namespace plimsoll
