#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/inputs/load_plan.h"
#include "cli/program/answer_error.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

struct CalibrateFlags {
  std::string run;
  bool json = false;
};

void print_text(const Calibration& calibration, const SampleStatistics& summary) {
  const SampleCount& count = calibration.count;
  fmt::print("{}\n", calibration.model->source());
  fmt::print("  {} samples of {} kinds of work; {} first samples, {} contended ones left out, {} outliers kept\n",
             count.samples, count.keys, count.warm_up, count.contended, count.outliers);
  fmt::print("  {:>12}{:>12}{:>12}{:>6}  {}\n", "expected", "5 %", "95 %", "n", "work");
  for (const auto& [key, statistics] : summary.keys) {
    const auto text = [](double ns) { return to_text(Nanoseconds(static_cast<std::int64_t>(ns))); };
    fmt::print("  {:>12}{:>12}{:>12}{:>6}  {}\n", text(statistics.expected_ns), text(statistics.low_ns),
               text(statistics.high_ns), statistics.samples, to_text(key));
  }
}

void print_json(const Calibration& calibration, const SampleStatistics& summary) {
  const SampleCount& count = calibration.count;
  ordered_json costs = ordered_json::array();
  for (const auto& [key, statistics] : summary.keys) {
    costs.push_back({{"work", to_text(key)},
                     {"expected_seconds", statistics.expected_ns * 1e-9},
                     {"low_seconds", statistics.low_ns * 1e-9},
                     {"high_seconds", statistics.high_ns * 1e-9},
                     {"samples", statistics.samples}});
  }
  const ordered_json object{{"format_version", 1},        {"source", calibration.model->source()},
                            {"samples", count.samples},   {"kinds_of_work", count.keys},
                            {"warm_up", count.warm_up},   {"contended", count.contended},
                            {"outliers", count.outliers}, {"costs", std::move(costs)}};
  fmt::print("{}\n", object.dump(2));
}

Result<ExitCode> calibrate_on(const CalibrateFlags& flags) {
  const auto samples = load_samples(flags.run);
  if (!samples) return fail(samples.error());
  const Calibration calibration = calibrate_on_catalogue(*samples);
  (flags.json ? print_json : print_text)(calibration, summarize_samples(*samples));
  return ExitCode::kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* command =
      app.add_subcommand("calibrate", "What a run's warm-up measured, as fit, plan and simulate use it");
  command->footer(
      "Example: plimsoll calibrate run.plimsoll; then plimsoll simulate plan.json --calibration run.plimsoll");
  command->add_option("RUN", flags->run, "a run file")->required();
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = calibrate_on(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
