#include "tests/gpu/predicted_steps.h"

#include <algorithm>

#include "executor/tiers/drive_rates.h"
#include "formats/machines/platform_parts.h"
#include "session/probe/copy_trial.h"
#include "tests/support/tiny_training.h"

namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);
constexpr std::int64_t kSteps = 7;

}  // namespace

Platform measured_machine(Bench& bench, MachineOptions options) {
  if (options.ssd) {
    const DriveRates found = taken(measure_drive_rates({.folder = "/tmp"}, {.span = kGiB, .mixed = true}));
    const DriveSpeeds drive = drive_speeds(found.read.median, found.write.median, found.mixed_read.median, found.mixed_write.median);
    options.ssd_read_gbs = drive.read / 1e9;
    options.ssd_write_gbs = drive.write / 1e9;
    options.ssd_together = drive.together;
    bench.add("drive, GB/s read", found.read.median / 1e9, true,
              fmt::format("{:.2f} written, {:.2f} and {:.2f} at once", found.write.median / 1e9, found.mixed_read.median / 1e9, found.mixed_write.median / 1e9));
  }
  Platform machine = machine_of(bench, options);
  const CopyRates copies = try_copies(*bench.device(), static_cast<std::size_t>(*options.cpu_cores));
  if (!take_copy_rates(machine, copies)) throw std::runtime_error(words_of(copies));
  bench.add("copies, GB/s to the device", copies.up / 1e9, true, words_of(copies));
  return machine;
}

Trace measured(const Bench& bench, const Plan& plan, bool traced) {
  const auto executor = executor_on(bench, plan);
  return taken(executor->run_steps({.first_step = 0, .steps = kSteps, .first_traced_step = traced ? 1 : kSteps}, kCorpus));
}

WarmUp learnt_from(const Bench& bench, const Plan& plan, const std::shared_ptr<const CostModel>& catalogue) {
  return learn(plan, measured(bench, plan, true), catalogue);
}

}  // namespace plimsoll::gpu
