#include "cli/commands/run_on_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cli/commands/run_request.h"
#include "cli/options/size_option.h"
#include "cli/print/print_safety.h"
#include "cli/print/progress_lines.h"
#include "cli/print/run_printer.h"
#include "cli/program/answer_error.h"
#include "cli/program/job_here.h"
#include "cli/program/lost_pages.h"
#include "cli/program/stop_signals.h"
#include "core/base/quantity.h"
#include "formats/runs/report_json.h"
#include "formats/text/json_text.h"
#include "session/job_cores.h"
#include "session/resume_command.h"
#include "session/run_ranks.h"
#include "sim/planner/ranks/job_plan.h"

namespace plimsoll {
namespace {

Error bad(std::string what, std::string remedy = {}) {
  return {.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)};
}

bool is_given(const RunFlags& flags, const std::string& option) {
  return std::find(flags.given.begin(), flags.given.end(), option) != flags.given.end();
}

Result<void> check_options(const RunFlags& flags, std::uint32_t job_ranks) {
  for (const char* option : {"--init-adapter", "--ssd", "--direct-storage", "--progress-fd", "--trial"}) {
    if (is_given(flags, option)) return fail(bad(fmt::format("a run on several ranks cannot do {} yet", option), "leave it out"));
  }
  for (const char* option : {"--resume", "--eval-data", "--save", "--save-every", "--durability"}) {
    if (flags.ranks.timed_waits > 0 && is_given(flags, option))
      return fail(bad(fmt::format("with --timed-waits nothing is computed, so {} has nothing to work on", option),
                      "leave one out"));
  }
  if (flags.strategy != "auto" && flags.strategy != "resident")
    return fail(bad("ranks keep all in their own memory, so --strategy does not go with them", "leave --strategy out"));
  if (flags.ranks.timed_waits > 0 && flags.backend == "cuda")
    return fail(bad("with --timed-waits kernels sleep, which a GPU's do not", "leave --backend or --timed-waits out"));
  if (flags.training.global_batch)
    return fail(bad("say --micro-batches instead of --global-batch", "each has --batch sequences"));
  return check_rank_flags(flags.ranks, job_ranks);
}

bool is_rate_schedule(const std::string& name) { return name == "constant" || name == "linear" || name == "cosine"; }

/// --schedule names a pipeline's order here, unless it is one of the learning rate's.
std::string take_schedule(RunFlags& flags) {
  if (is_rate_schedule(flags.training.schedule)) return "1f1b";
  const std::string name = flags.training.schedule;
  flags.training.schedule = "constant";
  std::erase(flags.given, "--schedule");  // of the learning rate's nothing was said
  return name;
}

/// A run that goes on keeps its number of micro-batches a step, which replicas may share otherwise than before.
Result<std::int64_t> micro_batches_of(const RunFlags& flags, const Recipe& recipe) {
  const std::int64_t replicas = micro_batches_of_all(flags.ranks, 1);
  const std::int64_t each = flags.ranks.micro_batches.value_or(recipe.accumulate / replicas);
  if (each * replicas == recipe.accumulate) return each;
  const std::string asked = flags.ranks.micro_batches ? fmt::format(" of {} each", each) : std::string();
  return fail(bad(fmt::format("the run has {} micro-batches a step, which do not go round {} replicas{}",
                              recipe.accumulate, replicas, asked),
                  flags.ranks.stage_replicas.empty() ? "leave --micro-batches out, and take a --dp that divides them"
                                                     : "take --stage-replicas whose least common multiple they are"));
}

Result<RunRequest> request_of_run(RunFlags& flags, const JobCores& cores) {
  const std::int64_t each = flags.ranks.micro_batches.value_or(flags.training.accumulate);
  if (flags.resume.empty() || flags.ranks.micro_batches)
    flags.training.accumulate = micro_batches_of_all(flags.ranks, each);
  const bool chooses = flags.matmul.empty() && flags.resume.empty() && flags.backend != "cuda";
  if (chooses) flags.matmul = "onednn";  // all ranks must round alike
  if (!flags.machine.cpu_cores) flags.machine.cpu_cores = static_cast<int>(cores.own);
  return make_run_request(flags);
}

Result<RanksRequest> make_request(RunFlags flags, const JobCores& cores, std::uint32_t job_ranks) {
  if (!is_given(flags, "--dp")) flags.ranks.data = flags.ranks.expert;  // it is replicas that share experts
  const std::string schedule_name = take_schedule(flags);
  if (const auto taken = take_stage_replicas(flags.ranks, schedule_name, flags.given); !taken)
    return fail(taken.error());
  if (const auto sound = check_options(flags, job_ranks); !sound) return fail(sound.error());
  if (updates_each(schedule_name) && !is_given(flags, "--clip")) flags.training.clip = 0;  // no stage knows the norm of all
  auto run = request_of_run(flags, cores);
  if (!run) return fail(run.error());
  if (run->plan) return fail(bad("ranks make their own plans, so MODEL cannot be a plan file", "name a model"));
  const auto micro_batches = micro_batches_of(flags, run->recipe);
  if (!micro_batches) return fail(micro_batches.error());
  auto schedule = schedule_of(flags.ranks, schedule_name, *micro_batches);
  if (!schedule) return fail(schedule.error());
  const auto bucket = read_size("--bucket", flags.ranks.bucket);
  if (!bucket) return fail(bucket.error());
  RankJob job{.spec = run->spec,
              .recipe = run->recipe,
              .platform = run->machine,
              .schedule = std::move(*schedule),
              .stage_blocks = flags.ranks.stage_blocks,
              .replicas = static_cast<std::uint32_t>(flags.ranks.data * flags.ranks.context),
              .context = static_cast<std::uint32_t>(flags.ranks.context),
              .tensor = static_cast<std::uint32_t>(flags.ranks.tensor),
              .sequence_parallel = flags.ranks.sequence_parallel,
              .zero = flags.ranks.zero,
              .bucket = *bucket,
              .experts = static_cast<std::uint32_t>(flags.ranks.expert),
              .evaluation = !run->evaluation_data.empty()};
  return RanksRequest{.run = std::move(*run),
                      .job = std::move(job),
                      .device = flags.device,
                      .cores = cores.all,
                      .waits = flags.ranks.timed_waits};
}

std::string memory_json(const RanksOutcome& outcome) {
  std::vector<std::string> ranks;
  for (std::size_t rank = 0; rank < outcome.memory.size(); ++rank) {
    JsonLine line;
    line.integer("rank", static_cast<std::int64_t>(rank)).integer("predicted_bytes", outcome.memory[rank].planned.count);
    ranks.push_back(line.integer("measured_bytes", outcome.memory[rank].measured.count).str());
  }
  return json_list(ranks);
}

void print_json(const RanksRequest& request, const RanksOutcome& outcome) {
  RunAnswer answer{.steps = static_cast<std::int64_t>(outcome.steps.size()), .file = request.run.output};
  for (const StepSummary& step : outcome.steps) {
    if (request.waits > 0) break;
    answer.losses.push_back(step.loss);
    if (request.job.spec.experts.count == 0) continue;
    answer.expert_losses.push_back(step.expert_loss);
    answer.expert_overflow.push_back(step.expert_overflow);
  }
  for (const auto& [steps, found] : outcome.evaluations) answer.evaluations.push_back({steps, found.loss, found.right});
  answer.step_seconds_median = to_seconds(outcome.measured);
  if (outcome.predicted.count > 0) answer.predicted_step_seconds = to_seconds(outcome.predicted);
  if (outcome.measured.count > 0)
    answer.tokens_per_second = static_cast<double>(request.job.recipe.tokens_per_step()) / answer.step_seconds_median;
  answer.safety = outcome.safety;
  std::string text = to_json(answer);
  text.resize(text.rfind('}'));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  fmt::print("{},\n  \"job\": {},\n  \"bubble_fraction\": {},\n  \"predicted_bubble_fraction\": {},\n  \"ranks\": {}\n}}\n", text,
             json_quote(outcome.what), json_number(outcome.measured_bubble), json_number(outcome.predicted_bubble),
             memory_json(outcome));
}

void print_text(const RanksRequest& request, const RanksOutcome& outcome) {
  fmt::print("{}: {}\n", request.job.spec.name, outcome.what);
  fmt::print("  {:<26}{:>14}{:>14}\n", "", "predicted", "measured");
  if (outcome.predicted.count > 0) {
    fmt::print("  {:<26}{:>14}{:>14}\n", "time of a step", to_text(outcome.predicted), to_text(outcome.measured));
    fmt::print("  {:<26}{:>13.1f}%{:>13.1f}%\n", "bubble", 100 * outcome.predicted_bubble, 100 * outcome.measured_bubble);
  }
  for (std::size_t rank = 0; rank < outcome.memory.size(); ++rank) {
    fmt::print("  {:<26}{:>14}{:>14}\n", fmt::format("memory of rank {}", rank), to_text(outcome.memory[rank].planned),
               to_text(outcome.memory[rank].measured));
  }
  fmt::print("  between ranks {} and {:.2f} GB/s, measured; times are {}\n", to_text(outcome.between.latency),
             outcome.between.bytes_per_second * 1e-9, outcome.calibration);
  if (request.waits > 0) {
    fmt::print("  kernels waited {:g} times their expected time and computed nothing: there is no loss\n", request.waits);
  } else {
    fmt::print("{}", loss_text(outcome.steps));
    if (request.job.spec.experts.count > 0) fmt::print("{}", expert_text(outcome.steps));
  }
  if (outcome.safety) fmt::print("{}", safety_text(*outcome.safety));
  const std::string kept = outcome.checkpoint.empty() ? "" : "; checkpoint " + outcome.checkpoint;
  fmt::print("  run file {}{}\n", request.run.output, kept);
}

/// All ranks may have met the same; the first one says it, and has ended the others before they do.
[[noreturn]] void fail_job(Job& job, const CLI::App& command, const Error& error) {
  if (job.rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2500 + 100 * job.rank()));
  const ExitCode code = report_error(command, error);
  std::fflush(stdout);  // the job's end flushes nothing
  if (job.ranks() == 1) std::exit(static_cast<int>(code));
  job.abort(static_cast<int>(code));
  std::_Exit(static_cast<int>(code));  // not reached
}

/// What one rank cannot start with, all ranks hear of.
std::optional<Error> first_refusal(Job& job, const Result<RanksRequest>& request) {
  const std::vector<std::string> all = job.tell_all(request ? std::string() : request.error().text());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    if (!request && request.error().text() == all[rank]) return request.error();
    return Error{.kind = ErrorKind::kInput, .what = fmt::format("rank {}: {}", rank, all[rank]), .where = {}, .remedy = {}};
  }
  return std::nullopt;
}

Result<RanksOutcome> conduct(const RanksRequest& request, const RunFlags& flags, const CLI::App& command, Job& job) {
  const std::chrono::milliseconds timeout(static_cast<std::int64_t>(flags.ranks.timeout * 1000));
  job.watch({.silence = timeout / 2, .standstill = timeout}, [&](const Error& lost) { fail_job(job, command, lost); });
  end_on_lost_pages(request.run.schedule.durability, request.run.output);
  RunPrinter printer(flags.quiet);
  try {
    return run_ranks(request, job, printer.watcher(), stop_on_signals());
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace

ExitCode run_on_ranks(RunFlags flags, const CLI::App& command) {
  auto job = join_this_job();
  if (!job) return report_error(command, job.error());
  if (flags.backend == "cuda") {
    flags.device = own_device(**job);
    // Streams that share one of the driver's queues wait for each other, which ranks' messages must not.
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  }
  flags.quiet = flags.quiet || (*job)->rank() > 0;
  const auto request = make_request(flags, share_cores(**job), (*job)->ranks());
  if (const auto refused = first_refusal(**job, request); refused) fail_job(**job, command, *refused);
  const auto outcome = conduct(*request, flags, command, **job);
  if (!outcome) fail_job(**job, command, outcome.error());
  if ((*job)->rank() == 0) (flags.json ? print_json : print_text)(*request, *outcome);
  (*job)->leave();
  if (outcome->interrupted && !flags.quiet && !outcome->checkpoint.empty()) {
    fmt::print(stderr, "plimsoll: interrupted; go on, on these ranks or others, with {}\n",
               on_ranks(resume_command(request->run), (*job)->ranks()));
  }
  return outcome->interrupted ? ExitCode::kInterrupted : ExitCode::kDone;
}

}  // namespace plimsoll
