#include "cli/options/rank_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "cli/program/job_here.h"
#include "sim/schedule/make_schedule.h"

namespace plimsoll {
namespace {

Error bad(std::string what, std::string remedy = {}) {
  return {.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)};
}

void add_pipeline_flags(CLI::App& command, RankFlags& flags, const std::string& group) {
  const auto degree = CLI::Range(std::int64_t{1}, std::int64_t{4096});
  command.add_option("--pp", flags.pipeline, "ranks of a pipeline; --schedule names its order (default: 1f1b)")
      ->check(degree)
      ->group(group);
  command.add_option("--chunks", flags.chunks, "stages of a rank, where the schedule has a choice")->check(degree)->group(group);
  command.add_flag("--vertical-sync", flags.vertical_sync, "pipedream: every stage uses the version that the first one used")
      ->group(group);
  command
      .add_option("--stage-replicas", flags.stage_replicas,
                  "pipedream: ranks of each stage, which micro-batches go round, as 2,1 for two and one")
      ->delimiter(',')
      ->group(group);
  command.add_option("--stage-blocks", flags.stage_blocks, "blocks of each stage, as 4,2 (default: equally many)")
      ->delimiter(',')
      ->group(group);
  command.add_option("--micro-batches", flags.micro_batches, "that each replica passes in a step (default: --accumulate)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
      ->group(group);
}

}  // namespace

void add_rank_flags(CLI::App& command, RankFlags& flags) {
  const std::string group = "Ranks (under mpirun, torchrun or another launcher; docs/ranks.md)";
  const auto degree = CLI::Range(std::int64_t{1}, std::int64_t{4096});
  add_pipeline_flags(command, flags, group);
  command.add_option("--dp", flags.data, "replicas that train on different micro-batches")->check(degree)->group(group);
  command.add_option("--tp", flags.tensor, "ranks that share each layer: they divide heads and the feed-forward layer's width")
      ->check(degree)
      ->group(group);
  command.add_flag("--sequence-parallel", flags.sequence_parallel,
                   "ranks that share layers share the rows of norms and residuals between them too")
      ->group(group);
  command.add_option("--cp", flags.context, "ranks that share each sequence: every one has some of its positions")
      ->check(degree)
      ->group(group);
  command.add_option("--ep", flags.expert, "replicas that share a mixture's experts (without --dp: there are as many)")
      ->check(degree)
      ->group(group);
  command.add_option("--zero", flags.zero, "replicas divide 1: the optimizer's states, 2: and gradients, 3: and weights")
      ->check(CLI::Range(0, 3))
      ->group(group);
  command.add_option("--bucket", flags.bucket, "gradients that replicas sum up in one piece, at most")
      ->group(group)
      ->capture_default_str();
  command.add_option("--timed-waits", flags.timed_waits, "kernels do not compute but sleep so many times their expected time")
      ->group(group);
  command.add_option("--rank-timeout", flags.timeout, "seconds without progress after which a rank is given up")
      ->check(CLI::Range(1.0, 86400.0))
      ->group(group)
      ->capture_default_str();
}

Result<void> check_rank_flags(const RankFlags& flags, std::uint32_t job_ranks) {
  if (flags.data % flags.expert != 0)
    return fail(bad(fmt::format("--ep {} does not divide --dp {}: replicas share the experts", flags.expert, flags.data),
                    fmt::format("take --dp {}, or leave it out", flags.expert)));
  if (flags.timed_waits < 0) return fail(bad("--timed-waits cannot be negative"));
  const bool round = !flags.stage_replicas.empty();
  const std::int64_t ranks = round ? first_rank_of(flags.stage_replicas, flags.stage_replicas.size())
                                   : flags.data * flags.pipeline * flags.tensor * flags.context;
  if (ranks == job_ranks) return {};
  if (round)
    return fail(bad(fmt::format("--stage-replicas {} needs {} ranks, and this job has {}",
                                fmt::join(flags.stage_replicas, ","), ranks, job_ranks),
                    on_ranks("plimsoll run ...", static_cast<std::uint32_t>(ranks))));
  std::string shared = flags.tensor > 1 ? fmt::format(" --tp {}", flags.tensor) : std::string();
  if (flags.context > 1) shared += fmt::format(" --cp {}", flags.context);
  if (flags.expert > 1) shared += fmt::format(" --ep {}", flags.expert);
  const std::string asked = fmt::format("--dp {} --pp {}{}", flags.data, flags.pipeline, shared);
  return fail(bad(fmt::format("{} needs {} ranks, and this job has {}", asked, ranks, job_ranks),
                  on_ranks("plimsoll run ...", static_cast<std::uint32_t>(ranks))));
}

Result<void> check_one_rank(const std::vector<std::string>& given, const std::string& schedule) {
  const auto kinds = schedule_kinds();
  if (std::any_of(kinds.begin(), kinds.end(), [&](const ScheduleKind& kind) { return kind.name == schedule; }))
    return fail(bad(fmt::format("--schedule {} is the order of a pipeline, and this is a run on one rank", schedule),
                    "add --pp; on one rank --schedule is the learning rate's"));
  for (const char* option : {"--sequence-parallel", "--chunks", "--vertical-sync", "--stage-replicas", "--stage-blocks",
                             "--micro-batches", "--bucket", "--timed-waits", "--rank-timeout"}) {
    if (std::find(given.begin(), given.end(), option) == given.end()) continue;
    return fail(bad(fmt::format("{} is of a run on several ranks, and this is one", option),
                    std::string_view(option) == "--micro-batches" ? "say --accumulate, or add --dp, --pp, --tp, --cp or --ep"
                                                                  : "leave it out, or add --dp, --pp, --tp, --cp or --ep"));
  }
  return {};
}

Result<void> take_stage_replicas(RankFlags& flags, const std::string& schedule, const std::vector<std::string>& given) {
  std::vector<std::uint32_t>& counts = flags.stage_replicas;
  if (counts.empty()) return {};
  const auto is_given = [&](const char* option) {
    return std::find(given.begin(), given.end(), option) != given.end();
  };
  if (!is_given("--pp")) flags.pipeline = static_cast<std::int64_t>(counts.size());
  for (const char* option : {"--dp", "--tp", "--cp", "--ep", "--zero"}) {
    if (is_given(option))
      return fail(
          bad(fmt::format("--stage-replicas {} cannot go with {}", fmt::join(counts, ","), option), "leave one out"));
  }
  const std::int64_t step = micro_batches_of_all(flags, 1);
  const auto sound = check_replicas({.name = schedule,
                                     .ranks = static_cast<std::uint32_t>(flags.pipeline),
                                     .micro_batches = static_cast<std::uint32_t>(step),
                                     .replicas = counts});
  if (!sound) return fail(sound.error());
  if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to()) != counts.end()) return {};
  flags.data = counts.front();
  counts.clear();
  return {};
}

std::int64_t micro_batches_of_all(const RankFlags& flags, std::int64_t each) {
  if (flags.stage_replicas.empty()) return each * flags.data;
  std::uint64_t step = 1;
  for (const std::uint32_t count : flags.stage_replicas)
    step = std::lcm(step, std::uint64_t{std::clamp(count, 1u, 4096u)});
  return static_cast<std::int64_t>(std::min(step, std::uint64_t{1} << 24)) * each;
}

bool updates_each(const std::string& schedule) { return schedule == "pipedream"; }

namespace {

Result<void> check_updates(const RankFlags& flags, const std::string& name, std::int64_t micro_batches) {
  if (flags.vertical_sync && !updates_each(name))
    return fail(bad(fmt::format("--vertical-sync is of the schedule pipedream, not of {}", name), "leave it out"));
  if (!updates_each(name) || micro_batches == 1) return {};
  return fail(bad(fmt::format("in pipedream every micro-batch is an update of its own, so a step has one and not {}",
                              micro_batches),
                  "leave --micro-batches and --accumulate out, or take --schedule 2bw, which accumulates"));
}

}  // namespace

namespace {

/// Steps in which every rank comes to its first backward pass.
std::int64_t job_rounds(const RankFlags& flags) {
  const std::int64_t ranks = first_rank_of(flags.stage_replicas, flags.stage_replicas.size());
  return 2 + ranks / micro_batches_of_all(flags, 1);
}

}  // namespace

Result<PipelineSchedule> schedule_of(const RankFlags& flags, const std::string& name, std::int64_t micro_batches) {
  if (auto sound = check_updates(flags, name, micro_batches); !sound) return fail(sound.error());
  std::int64_t shown = updates_each(name) ? 2 * flags.pipeline : micro_batches;  // as many as show what repeats
  if (!flags.stage_replicas.empty()) shown = micro_batches_of_all(flags, job_rounds(flags));
  ScheduleRequest request{.name = name,
                          .ranks = static_cast<std::uint32_t>(flags.pipeline),
                          .micro_batches = static_cast<std::uint32_t>(shown),
                          .vertical_sync = flags.vertical_sync,
                          .replicas = flags.stage_replicas};
  if (flags.chunks) request.chunks = static_cast<std::uint32_t>(*flags.chunks);
  return make_schedule(request);
}

}  // namespace plimsoll
