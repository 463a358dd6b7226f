#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// The options of workloads beside training, as typed.
struct WorkloadFlags {
  std::string workload;  ///< empty: training
  std::optional<std::int64_t> prompt;
  std::optional<std::int64_t> new_tokens;
  std::optional<std::int64_t> gpu_batch;
  std::string percent;
  std::string cpu_attention;  ///< "yes", "no"; empty: whichever is faster
  std::int64_t weight_bits = 0;
  std::int64_t cache_bits = 0;
  std::string pageable;  ///< "weights", "cache" or both
  bool eager_codes = false;
  bool no_overlap = false;
  std::string program;  ///< inference: whose schedule
  std::optional<std::int64_t> image;     ///< diffusion: pixels of a picture's height and width
  std::optional<std::int64_t> residues;  ///< evoformer
  std::optional<std::int64_t> msa;
  std::optional<std::int64_t> attention_chunk;
  std::int64_t dap = 1;                  ///< evoformer: devices that share an alignment
  std::string critic;  ///< ppo: a model as MODEL; empty: as the actor
  std::string reward;
  std::int64_t ppo_epochs = 1;
  std::vector<std::string> given;  ///< names of all options of the command line

  [[nodiscard]] bool exists() const { return !workload.empty(); }
};

void add_workload_flags(CLI::App& command, WorkloadFlags& flags);

/// The names of what stands on the command line, for check_given.
std::vector<std::string> given_options(const CLI::App& command);

/// Refuses options that the workload would ignore: all but `known`, machine options, MODEL, --workload, --json, --csv.
Result<void> check_given(const WorkloadFlags& flags, const std::vector<std::string>& known);

/// The same of options that `by` would ignore.
Result<void> check_given(const WorkloadFlags& flags, const std::vector<std::string>& known, const std::string& by,
                         const std::string& remedy);

/// Without --workload its options would be ignored, and are refused.
Result<void> check_no_workload(const WorkloadFlags& flags);

}  // namespace plimsoll
