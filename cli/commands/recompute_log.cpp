#include "cli/commands/recompute_log.h"

#include <fmt/format.h>

#include "cli/print/waiting_line.h"
#include "formats/text/json_text.h"
#include "formats/text/write_text_file.h"
#include "formats/traces/read_operator_log.h"
#include "sim/planner/operators/plan_operators.h"

namespace plimsoll {
namespace {

/// "run 12 conv2d", "free x7".
std::string schedule_json(const OperatorGraph& graph, const OperatorSchedule& schedule) {
  std::vector<std::string> items;
  for (const OperatorStep& step : schedule) {
    const bool runs = step.kind == OperatorStep::Kind::kRun;
    items.push_back(json_quote(runs ? fmt::format("run {} {}", step.index, graph.operators[step.index].name)
                                    : fmt::format("free {}", graph.at(graph.storages[step.index].owner).name)));
  }
  return json_list(items);
}

std::string baselines_json(const OperatorAnswer& answer) {
  std::vector<std::string> items;
  for (const OperatorPlan& plan : answer.baselines) {
    JsonLine line;
    line.text("name", plan.name).flag("feasible", plan.replay.has_value());
    if (plan.replay) line.number("time", to_seconds(plan.replay->time)).integer("peak_bytes", plan.replay->peak.count);
    items.push_back(line.str());
  }
  return json_list(items);
}

JsonLine plan_line(const OperatorGraph& graph, const OperatorAnswer& answer) {
  JsonLine line;
  line.integer("format_version", 1)
      .integer("budget_bytes", answer.budget.count)
      .flag("feasible", answer.best.has_value());
  if (!answer.best) return line.raw("time", "null").raw("peak_bytes", "null").raw("schedule", "[]");
  const OperatorReplay& replay = *answer.best->replay;
  line.number("time", to_seconds(replay.time)).integer("peak_bytes", replay.peak.count);
  line.integer("runs_again", static_cast<std::int64_t>(replay.again));
  return line.raw("schedule", schedule_json(graph, answer.schedule));
}

void print_json(const OperatorGraph& graph, const OperatorAnswer& answer) {
  JsonLine line = plan_line(graph, answer);
  line.integer("operators", static_cast<std::int64_t>(graph.operators.size()));
  line.number("minimum_time", to_seconds(answer.base_time)).integer("program_peak_bytes", answer.base_peak.count);
  line.raw("lower_bound", answer.lower_bound ? json_number(to_seconds(*answer.lower_bound)) : "null");
  line.integer("least_bytes", answer.least_bytes.count).raw("baselines", baselines_json(answer));
  fmt::print("{}\n", line.str());
}

double percent_above(Nanoseconds time, Nanoseconds least) {
  return least.count > 0 ? 100 * (to_seconds(time) / to_seconds(least) - 1) : 0;
}

void print_plan(const OperatorPlan& plan, Nanoseconds base) {
  if (!plan.replay) return fmt::print("  {:<28}{:>16}\n", plan.name, "finds no way");
  fmt::print("  {:<28}{:>16}{:>9.1f} %{:>14}\n", plan.name, to_text(plan.replay->time), percent_above(plan.replay->time, base),
             to_text(plan.replay->peak));
}

void print_text(const std::string& file, const OperatorGraph& graph, const OperatorAnswer& answer) {
  if (!answer.best) {
    fmt::print("{} does not fit in {}{}\n", file, to_text(answer.budget),
               answer.lower_bound ? ", as far as was looked: no order was found" : "");
    fmt::print("  no order needs less than {} bytes; computing nothing again takes {}\n", answer.least_bytes.count,
               to_text(answer.base_peak));
    return;
  }
  const OperatorReplay& replay = *answer.best->replay;
  fmt::print("{} in {}: {}, {:.1f} % above {} without recomputation\n", file, to_text(answer.budget), to_text(replay.time),
             percent_above(replay.time, answer.base_time), to_text(answer.base_time));
  fmt::print("  {} operators, {} runs again; without recomputation {} are held at the peak\n", graph.operators.size(),
             replay.again, to_text(answer.base_peak));
  fmt::print("  no order takes less than {}; none needs less than {} bytes\n", to_text(*answer.lower_bound),
             answer.least_bytes.count);
  fmt::print("  {:<28}{:>16}{:>11}{:>14}\n", "", "time", "above", "peak");
  print_plan({"this schedule", replay}, answer.base_time);
  for (const OperatorPlan& plan : answer.baselines) print_plan(plan, answer.base_time);
}

}  // namespace

Result<ExitCode> recompute_log(const LogRequest& request) {
  const auto graph = read_operator_log(request.text, request.file);
  if (!graph) return fail(graph.error());
  const auto answer = [&] {
    const WaitingLine waiting("looking for the best schedule");
    return plan_operators(*graph, request.budget);
  }();
  if (!answer) return fail(answer.error());
  if (answer->best && !request.save.empty()) write_text_file(request.save, plan_line(*graph, *answer).str() + "\n");
  if (request.json) {
    print_json(*graph, *answer);
  } else {
    print_text(request.file, *graph, *answer);
  }
  return answer->best ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace plimsoll
