#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/machine_flags.h"
#include "cli/options/stack_flags.h"
#include "cli/options/training_flags.h"
#include "sim/parallel/layout_request.h"
#include "sim/parallel/predict_parallel.h"

namespace plimsoll {

/// The options of a training on many devices that no other answer knows, as typed.
struct ParallelFlags {
  std::int64_t collective_sms = 0;
  std::string schedule;
  std::int64_t micro_batch = 1;
  std::string context = "ring";
  std::string tensor_layout = "1d";
  std::optional<double> imbalance;
  std::string gating = "one-level";
  std::vector<std::string> slow;
  bool exact = false;
  bool gradients_at_end = false;
  bool partition_activations = false;
  bool tp_comm_overlap = false;
};

/// --on, --gpus and the degrees of commands that ask about layouts alone; `fit` has them by other groups.
void add_layout_flags(CLI::App& command, MachineFlags& machine, StackFlags& stack);
void add_parallel_flags(CLI::App& command, ParallelFlags& flags);

/// Degrees of `fit`'s and `simulate`'s options: those of other programs (--dp, --tp, …) as `stack` has them, beside
/// these. Only what was typed on `command` is said.
Result<LayoutRequest> read_layout(const CLI::App& command, const ParallelFlags& flags, const StackFlags& stack,
                                  const TrainingFlags& training);

/// Of those, the degrees and the micro-batch that were typed as another program's options too.
LayoutRequest said_degrees(const CLI::App& command, const StackFlags& stack, const TrainingFlags& training);

/// A training on many devices as the options state it, but for its layout.
struct AskedParallel {
  ParallelQuestion question;
  std::vector<std::string> notes;
};

Result<AskedParallel> read_parallel(const std::string& model, const ParallelFlags& flags, const StackFlags& stack,
                                    const MachineFlags& machine, const TrainingFlags& training);

/// True where an option was typed that only a training on many devices has.
bool asks_parallel(const CLI::App& command, const MachineFlags& machine, const StackFlags& stack);

/// Refuses, by name, options of layouts where there is one GPU: its own answer knows none of them.
Result<void> check_several(const CLI::App& command, const MachineFlags& machine, const StackFlags& stack);

/// Refuses, by name, options of layouts where another program trains: they would be ignored.
Result<void> check_no_layout(const CLI::App& command, const StackFlags& stack);

}  // namespace plimsoll
