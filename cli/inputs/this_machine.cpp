#include "cli/inputs/this_machine.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/inputs/probe_cache.h"
#include "cli/inputs/target_machine.h"
#include "formats/machines/machine_json.h"

namespace plimsoll {

Result<ExitCode> print_this_machine(const MachineFlags& flags) {
  const auto machine = find_target_machine(flags);
  if (!machine) return fail(machine.error());
  const KnownProbe known = find_probe(probe_this_computer());
  nlohmann::ordered_json answer;
  answer["format_version"] = 1;
  answer["machine"] = nlohmann::ordered_json::parse(write_machine(machine->platform));
  answer["probe"] = known.probe ? nlohmann::ordered_json::parse(write_probe(*known.probe)) : nlohmann::ordered_json(nullptr);
  answer["notes"] = machine->notes;
  fmt::print("{}\n", answer.dump());
  return ExitCode::kDone;
}

}  // namespace plimsoll
