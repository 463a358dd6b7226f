#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// The options that spread a run over ranks, as typed.
struct RankFlags {
  std::int64_t data = 1;                 ///< --dp
  std::int64_t pipeline = 1;             ///< --pp
  std::int64_t tensor = 1;               ///< --tp
  bool sequence_parallel = false;        ///< between the layers that --tp shares
  std::int64_t context = 1;              ///< --cp
  std::int64_t expert = 1;               ///< --ep
  std::int64_t zero = 0;
  std::optional<std::int64_t> chunks;
  std::optional<std::int64_t> micro_batches;
  bool vertical_sync = false;
  std::string bucket = "25MB";
  std::vector<std::uint32_t> stage_replicas;  ///< pipedream: ranks of each stage; empty: --dp of all
  std::vector<std::uint32_t> stage_blocks;    ///< of each stage; empty: equally many
  double timed_waits = 0;
  double timeout = 20;

  /// Whether the run is on more than one rank.
  [[nodiscard]] bool asks() const {
    return !stage_replicas.empty() || data > 1 || pipeline > 1 || tensor > 1 || context > 1 || expert > 1 || zero > 0;
  }
};

void add_rank_flags(CLI::App& command, RankFlags& flags);

/// Refuses what does not go together or cannot run yet, naming the option, and a job of another size than the flags ask for,
/// naming the launcher's command.
Result<void> check_rank_flags(const RankFlags& flags, std::uint32_t job_ranks);

/// Refuses options that mean something on several ranks only, of those that were given to a run on one, and the order of a
/// pipeline as `schedule`.
Result<void> check_one_rank(const std::vector<std::string>& given, const std::string& schedule);

/// Refuses --stage-replicas that are not of these flags and this schedule; counts that are all equal become --dp, and
/// --pp may be left out (`given` are the options that were not).
Result<void> take_stage_replicas(RankFlags& flags, const std::string& schedule, const std::vector<std::string>& given);

/// Micro-batches of all ranks in a step of which each replica passes `each`: where they go round, whole rounds of all
/// stages.
std::int64_t micro_batches_of_all(const RankFlags& flags, std::int64_t each);

/// Whether that schedule's stages update with every micro-batch, so that a step is one of them.
bool updates_each(const std::string& schedule);

/// The schedule of that name for the flags' sizes; sizes that it does not have are refused with those it has.
Result<PipelineSchedule> schedule_of(const RankFlags& flags, const std::string& name, std::int64_t micro_batches);

}  // namespace plimsoll
