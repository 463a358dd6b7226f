#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "formats/machines/machine_options.h"

namespace plimsoll {

/// The options that describe a machine, as typed.
struct MachineFlags {
  std::string gpu;  ///< --on; empty or "this": this computer
  std::string ram;
  std::string ssd;   ///< 2TB[:READ,WRITE][xN]
  double ssd_together = 1;  ///< of a drive that was measured (DriveSpeeds); no option says it
  std::string ssd_folder;     ///< of this computer; empty: beside the run file, or where the program was started
  bool direct_storage = false;  ///< the drive and the device exchange data without host memory
  std::string pcie;  ///< GENxLANES
  std::string device_memory;
  std::optional<int> cpu_cores;
  std::optional<double> dram_gbs;
  bool desktop = false;
  std::string os = "linux";
  int gpus = 1;
  std::string machine_file;  ///< --machine FILE.json: a platform written out
};

/// --on and --gpus, in that order: a name may come with a number before it ("4x RTX 3090", "4 × RTX 3090"), which
/// --gpus must not contradict.
void add_gpu_options(CLI::App& command, MachineFlags& flags, const std::string& on, const std::string& gpus,
                     const std::string& group);
void add_machine_flags(CLI::App& command, MachineFlags& flags);

/// Reads the sizes; an error names the option.
Result<MachineOptions> read_machine_options(const MachineFlags& flags);

/// Refuses several GPUs where a plan of ours is asked for: it is of one.
Result<void> check_one_gpu(const MachineFlags& flags);

}  // namespace plimsoll
