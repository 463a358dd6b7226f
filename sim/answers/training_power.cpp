#include "sim/answers/training_power.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/training/data_sets.h"

namespace plimsoll {
namespace {

constexpr double kJoulesOfKwh = 3.6e6;

/// Between what it draws while it waits and all it may draw.
double mean_watts(double most, double idle_share, double busy) {
  return most * (idle_share + (1 - idle_share) * std::clamp(busy, 0.0, 1.0));
}

const std::string& origin(std::string_view key) { return training_constants().entry(key).origin; }

/// A host's own parts, with what its supply loses of all.
void add_host(const MachineFacts& machine, const BusyShares& busy, std::vector<PowerPart>& parts) {
  const ConstantTable& constants = training_constants();
  const double cpu_busy = machine.has_gpu ? busy.cpu : busy.cpu + busy.gpu;  // without a GPU the CPU computes
  const double cpu = machine.cores * constants.at("cpu.watts_per_core");
  parts.push_back({"cpu", machine.hosts * mean_watts(cpu, constants.at("cpu.idle_share"), cpu_busy),
                   fmt::format("{:g} W a core: {}", constants.at("cpu.watts_per_core"), origin("cpu.watts_per_core"))});
  parts.push_back({"dram", machine.hosts * machine.ram_gib * constants.at("dram.watts_per_gib"), origin("dram.watts_per_gib")});
  const double drive = constants.at("ssd.idle_watts") + std::clamp(busy.read, 0.0, 1.0) * constants.at("ssd.read_watts") +
                       std::clamp(busy.write, 0.0, 1.0) * constants.at("ssd.write_watts");
  parts.push_back({"ssd", machine.hosts * machine.drives * drive, origin("ssd.write_watts")});
  parts.push_back({"board", machine.hosts * constants.at("board.watts"), origin("board.watts")});
  double all = 0;
  for (const PowerPart& part : parts) all += part.watts;
  const double efficiency = constants.at("supply.efficiency");
  parts.push_back({"supply", all * (1 / efficiency - 1), origin("supply.efficiency")});
}

}  // namespace

std::vector<PowerPart> power_parts(const MachineFacts& machine, const BusyShares& busy) {
  const ConstantTable& constants = training_constants();
  std::vector<PowerPart> parts;
  if (machine.board_watts) {
    parts.push_back(
        {"gpu", machine.gpus * mean_watts(*machine.board_watts, constants.at("gpu.idle_share"), busy.gpu),
         fmt::format("{}, busy {:.0f} %; while it waits {:g} of it ({})", machine.board_origin,
                     100 * std::min(1.0, busy.gpu), constants.at("gpu.idle_share"), origin("gpu.idle_share"))});
  }
  if (machine.in_servers && machine.board_watts) {
    parts.push_back({"server", machine.gpus * *machine.board_watts * constants.at("server.other_share"), origin("server.other_share")});
  } else {
    add_host(machine, busy, parts);
  }
  return parts;
}

std::optional<double> energy_kwh(const MachineFacts& machine, const std::vector<PowerPart>& parts, double seconds) {
  if (machine.has_gpu && !machine.board_watts) return std::nullopt;
  double watts = 0;
  for (const PowerPart& part : parts) watts += part.watts;
  return watts * seconds / kJoulesOfKwh;
}

}  // namespace plimsoll
