#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/durability_flags.h"
#include "cli/options/machine_flags.h"
#include "cli/options/rank_flags.h"
#include "cli/options/training_flags.h"

namespace plimsoll {

/// The options of `run`, as typed.
struct RunFlags {
  std::string model;  ///< a model, or a plan file; may be empty when a run is resumed
  std::string backend = "cpu";
  MachineFlags machine;
  TrainingFlags training;
  RankFlags ranks;
  std::string strategy = "auto";
  std::string calibration;
  bool no_device_graphs = false;
  std::uint32_t device = 0;  ///< of the CUDA backend: the GPU's number; on ranks each has its own
  std::string matmul;
  std::int64_t steps = 100;
  std::int64_t warm_up_steps = 8;
  std::string data;
  std::string evaluation_data;
  std::int64_t evaluate_every = 0;
  DurabilityFlags durability;
  std::string on_nan = "stop";
  std::string init;
  std::string init_adapter;
  std::string save;
  std::string save_precision = "fp32";
  std::string save_shards = "5GB";
  std::string resume;
  bool other_data = false;
  bool trial = false;
  std::string output = "run.plimsoll";
  bool force = false;
  bool quiet = false;
  int progress_fd = -1;
  bool json = false;
  std::vector<std::string> given;  ///< names of the options that were written on the command line
  std::string command;             ///< the command line as typed
  std::vector<std::pair<std::string, std::string>> typed;  ///< of it what a resumed run takes again
};

void add_run_flags(CLI::App& command, RunFlags& flags);

/// Notes which options were written, and the command line, after the parse.
void note_given(const CLI::App& command, RunFlags& flags);

}  // namespace plimsoll
