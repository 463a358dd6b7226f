#pragma once

#include <memory>
#include <optional>
#include <string>

#include "formats/machines/machine_probe.h"
#include "profiler/probe/this_computer.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// Where the probe of this computer is kept: plimsoll/machine.json in $XDG_CACHE_HOME, else in ~/.cache. Fails when the
/// environment names neither.
Result<std::string> probe_cache_path();

/// What is known of this computer: its probe, or why there is none that counts.
struct KnownProbe {
  std::optional<MachineProbe> probe;
  std::string note;  ///< for people
};

/// The cached probe, when it is of this computer and of no older version of the program.
KnownProbe find_probe(const ThisComputer& computer);

/// What the probe measured, and the catalogue where it measured nothing of the kind.
Result<std::shared_ptr<const CostModel>> costs_of(const MachineProbe& probe);

/// The costs of this computer when the platform is this computer's and it was probed; else null.
Result<std::shared_ptr<const CostModel>> own_costs(const Platform& platform);

/// Reads a probe file; one of another computer is as good.
Result<MachineProbe> load_probe(const std::string& path);

}  // namespace plimsoll
