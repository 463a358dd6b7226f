#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/waiting_line.h"
#include "formats/plans/chain_json.h"
#include "formats/text/json_text.h"
#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/chains/compare_chain_plans.h"

namespace plimsoll {
namespace {

constexpr Bytes kMostText{256 * kMiB.count};

struct RecomputeFlags {
  std::string file;
  std::string budget;
  std::string save;
  bool curve = false;
  bool json = false;
};

std::string plans_json(const std::vector<ChainPlan>& plans) {
  std::vector<std::string> items;
  for (const ChainPlan& plan : plans) {
    JsonLine line;
    line.text("name", plan.name).flag("feasible", plan.fits).number("time", plan.replay.seconds);
    items.push_back(line.integer("peak_bytes", plan.replay.peak.count).str());
  }
  return json_list(items);
}

std::string curve_json(const StepCurve& curve) {
  std::vector<std::string> items;
  for (const CurveStep& step : curve) {
    items.push_back(fmt::format("[{}, {}]", step.bytes.count, json_number(step.seconds)));
  }
  return json_list(items);
}

std::string number_or_null(const std::optional<double>& value) { return value ? json_number(*value) : "null"; }

/// The plan's own fields, which --save writes as well.
JsonLine plan_line(const ChainAnswer& answer) {
  JsonLine line;
  line.integer("format_version", 1)
      .integer("budget_bytes", answer.budget.count)
      .flag("feasible", answer.best.has_value());
  if (!answer.best) return line.raw("time", "null").raw("peak_bytes", "null").raw("schedule", "[]");
  line.number("time", answer.best->replay.seconds).integer("peak_bytes", answer.best->replay.peak.count);
  return line.raw("schedule", chain_schedule_json(answer.best->schedule));
}

void print_json(const ChainAnswer& answer, bool with_curve) {
  JsonLine line = plan_line(answer);
  line.raw("lower_bound", number_or_null(answer.lower_bound)).flag("exact", answer.exact);
  line.raw("persistent_lower_bound", number_or_null(answer.persistent_bound));
  line.integer("minimum_bytes", answer.curve.front().bytes.count);
  line.number("minimum_time", answer.curve.back().seconds).raw("baselines", plans_json(answer.baselines));
  if (with_curve) line.raw("curve", curve_json(answer.curve));
  fmt::print("{}\n", line.str());
}

double percent_above(double seconds, double least) { return least > 0 ? 100 * (seconds / least - 1) : 0; }

void print_plan(const std::string& name, const ChainReplay& replay, bool fits) {
  fmt::print("  {:<28}{:>14.6g} s{:>14}{}\n", name, replay.seconds, to_text(replay.peak),
             fits ? "" : "   does not fit");
}

void print_text(const std::string& file, const ChainAnswer& answer) {
  const CurveStep& least = answer.curve.front();
  const double plain = answer.curve.back().seconds;
  if (!answer.best) {
    fmt::print("{} does not fit in {}: the least is {} bytes, in {:.6g} s\n", file, to_text(answer.budget),
               least.bytes.count, least.seconds);
  } else {
    const double seconds = answer.best->replay.seconds;
    fmt::print("{} in {}: {:.6g} s, {:.1f} % above {:.6g} s without recomputation\n", file, to_text(answer.budget),
               seconds, percent_above(seconds, plain), plain);
    fmt::print("  the best of all schedules that keep what they keep until its backward{}\n",
               answer.exact
                   ? std::string()
                   : fmt::format(", to {:.2g} %", percent_above(seconds, answer.persistent_bound.value_or(0))));
    fmt::print("  no schedule takes less than {:.6g} s; the least memory is {} bytes, in {:.6g} s\n",
               answer.lower_bound.value_or(0), least.bytes.count, least.seconds);
    fmt::print("  {:<28}{:>16}{:>14}\n", "", "time", "peak");
    print_plan("this schedule", answer.best->replay, true);
  }
  for (const ChainPlan& plan : answer.baselines) print_plan(plan.name, plan.replay, plan.fits);
}

void print_curve(const StepCurve& curve) {
  fmt::print("bytes,seconds\n");
  for (const CurveStep& step : curve) fmt::print("{},{}\n", step.bytes.count, json_number(step.seconds));
}

/// A schedule may replace a JSON file, but not the chain that it is for.
Result<void> check_output(const RecomputeFlags& flags) {
  if (flags.save.empty()) return {};
  std::error_code absent;
  if (std::filesystem::equivalent(flags.save, flags.file, absent)) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "this is the chain itself, so it is not replaced",
                 .where = flags.save,
                 .remedy = "choose another name"});
  }
  return check_replaceable(flags.save, FileKind::kJson);
}

Result<ExitCode> recompute(const RecomputeFlags& flags) {
  const auto budget = parse_bytes(flags.budget);
  if (!budget) return fail(budget.error());
  if (const auto usable = check_output(flags); !usable) return fail(usable.error());
  const auto text = read_text_file(flags.file, kMostText);
  if (!text) return fail(text.error());
  const auto chain = read_chain(*text, flags.file);
  if (!chain) return fail(chain.error());
  const auto answer = [&] {
    const WaitingLine waiting("looking for the best schedule");
    return compare_chain_plans(*chain, *budget);
  }();
  if (!answer) return fail(answer.error());
  if (answer->best && !flags.save.empty()) write_text_file(flags.save, plan_line(*answer).str() + "\n");
  if (flags.json) {
    print_json(*answer, flags.curve);
  } else if (flags.curve) {
    print_curve(answer->curve);
  } else {
    print_text(flags.file, *answer);
  }
  return answer->best ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_recompute(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<RecomputeFlags>();
  CLI::App* command = app.add_subcommand("recompute", "Decide what a chain of blocks keeps and what it computes again");
  command->footer(
      "CHAIN.json has the times and sizes of each block (docs/plan-format.md). The answer is the fastest order of "
      "forwards and\n"
      "backwards within the budget, beside keeping everything, square-root segments and Revolve; exit code 3 when none "
      "fits.\n"
      "Example: plimsoll recompute chain.json --budget 3GiB --save schedule.json");
  command->add_option("CHAIN", flags->file, "a JSON file")->required();
  command->add_option("--budget", flags->budget, "bytes beside the chain's own input, as in 1048576 or 3GiB")
      ->required();
  command->add_option("--save", flags->save, "where the schedule goes, as JSON");
  command->add_flag("--curve", flags->curve, "print the least time for every budget");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = recompute(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
