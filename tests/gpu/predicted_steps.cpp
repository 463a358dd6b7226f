#include "tests/gpu/predicted_steps.h"

#include <algorithm>

#include "executor/tiers/drive_rates.h"
#include "session/probe/copy_trial.h"
#include "tests/support/tiny_training.h"

namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);
constexpr std::int64_t kSteps = 7;

}  // namespace

Platform measured_machine(Bench& bench, MachineOptions options) {
  if (options.ssd) {
    const DriveRates drive = taken(measure_drive_rates({.folder = "/tmp"}));
    options.ssd_read_gbs = drive.read.median / 1e9;
    options.ssd_write_gbs = drive.write.median / 1e9;
    bench.add("drive, GB/s read", drive.read.median / 1e9, true, fmt::format("{:.2f} written", drive.write.median / 1e9));
  }
  Platform machine = machine_of(bench, options);
  const CopyRates copies = try_copies(*bench.device(), static_cast<std::size_t>(*options.cpu_cores));
  take_copy_rates(machine, copies);
  bench.add("copies, GB/s to the device", copies.up / 1e9, true, words_of(copies));
  return machine;
}

Trace measured(const Bench& bench, const Plan& plan, bool traced) {
  const auto executor = executor_on(bench, plan);
  return taken(executor->run_steps({.first_step = 0, .steps = kSteps, .first_traced_step = traced ? 1 : kSteps}, kCorpus));
}

double median_step(const Trace& trace) {
  std::vector<double> seconds;
  for (std::size_t i = 2; i < trace.steps.size(); ++i) seconds.push_back(to_seconds(trace.steps[i].duration()));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

WarmUp learnt_from(const Bench& bench, const Plan& plan, const std::shared_ptr<const CostModel>& catalogue) {
  return learn(plan, measured(bench, plan, true), catalogue);
}

}  // namespace plimsoll::gpu
