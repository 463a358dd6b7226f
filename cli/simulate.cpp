#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/load_plan.h"
#include "cli/print_fit.h"
#include "cli/probe_cache.h"
#include "cli/waiting_line.h"
#include "formats/runs/report_json.h"
#include "sim/planner/fit_answer.h"

namespace plimsoll {
namespace {

struct SimulateFlags {
  std::string plan;
  std::string calibration;
  double skips = 0;
  bool json = false;
};

Result<ExitCode> simulate_file(const SimulateFlags& flags) {
  std::optional<WaitingLine> waiting("verifying and timing the plan");
  const auto plan = load_plan(flags.plan);
  if (!plan) return fail(plan.error());
  auto own = own_costs(plan->platform);
  if (!own) return fail(own.error());
  const auto costs = load_costs(flags.calibration, std::move(*own), plan->platform);
  if (!costs) return fail(costs.error());
  const auto prediction = predict(*plan, **costs, {.skips = flags.skips});
  if (!prediction) return fail(prediction.error());
  const auto bound = lower_bound(*plan, **costs);
  if (!bound) return fail(bound.error());
  waiting.reset();
  const FitAnswer answer = fit_answer(*plan, *prediction, *bound, (*costs)->source());
  fmt::print("{}", flags.json ? to_json(answer) : fit_text(answer, plan->recipe, plan->platform.name));
  return answer.fits ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_simulate(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand("simulate", "Verify a plan and time it");
  command->footer("Example: plimsoll simulate plan.json --calibration run.plimsoll");
  command->add_option("PLAN", flags->plan, "a plan file")->required();
  command->add_option("--calibration", flags->calibration, "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
  command->add_option("--skip-probability", flags->skips, "of a step whose fp16 gradients overflow, so that nothing is updated")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = simulate_file(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
