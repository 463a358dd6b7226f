#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/load_plan.h"
#include "formats/run_file.h"

namespace plimsoll {
namespace {

Result<ExitCode> calibrate_on(const std::string& path) {
  const auto calibration = load_calibration(path);
  if (!calibration) return fail(calibration.error());
  const SampleCount& count = calibration->count;
  fmt::print("{}\n", calibration->model->source());
  fmt::print("  {} samples of {} kinds of work; {} first samples, {} contended ones left out, {} outliers kept\n", count.samples,
             count.keys, count.warm_up, count.contended, count.outliers);
  std::vector<Sample> samples;
  const auto run = read_run_file(path);
  if (!run) return fail(run.error());
  for (const CostSample& sample : run->cost_samples) {
    const auto key = parse_cost_key(sample.key);
    if (key) samples.push_back({.key = *key, .duration = sample.duration, .plan_digest = sample.plan_digest});
  }
  fmt::print("  {:>12}{:>12}{:>12}{:>6}  {}\n", "median", "5 %", "95 %", "n", "work");
  for (const auto& [key, statistics] : summarize_samples(samples).keys) {
    const auto text = [](double ns) { return to_text(Nanoseconds(static_cast<std::int64_t>(ns))); };
    fmt::print("  {:>12}{:>12}{:>12}{:>6}  {}\n", text(statistics.median_ns), text(statistics.low_ns), text(statistics.high_ns),
               statistics.samples, to_text(key));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, ExitCode& code) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("calibrate", "What a run's warm-up measured, as fit, plan and simulate use it");
  command->footer("Example: plimsoll calibrate run.plimsoll; then plimsoll simulate plan.json --calibration run.plimsoll");
  command->add_option("RUN", *path, "a run file")->required();
  command->callback([path, &code] {
    const auto ended = calibrate_on(*path);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
