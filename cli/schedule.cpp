#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/print_schedule.h"
#include "core/schedule/verify_schedule.h"
#include "formats/text/csv.h"
#include "sim/schedule/make_schedule.h"

namespace plimsoll {
namespace {

struct ScheduleFlags {
  ScheduleRequest request;
  std::string costs = "1,1,1,0";
  bool json = false;
};

/// Four numbers with commas between them.
Result<RankCosts> parse_costs(const std::string& text) {
  RankCosts costs;
  double* const fields[] = {&costs.forward, &costs.input_gradient, &costs.weight_gradient, &costs.hop};
  std::string_view rest = text;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto number = parse_number(rest.substr(0, comma));
    if (!number || (comma == rest.size()) != (i == 3)) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("'{}' is not four numbers", text),
                   .where = "--costs",
                   .remedy = "give forward, input gradient, weight gradient and hop, as in --costs 1,1,1,0"});
    }
    *fields[i] = *number;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return costs;
}

Result<ExitCode> answer_schedule(const ScheduleFlags& flags) {
  const auto costs = parse_costs(flags.costs);
  if (!costs) return fail(costs.error());
  ScheduleRequest request = flags.request;
  request.costs = *costs;
  auto schedule = make_schedule(request);
  if (!schedule) return fail(schedule.error());
  if (const auto verified = verify_schedule(*schedule); !verified) return fail(verified.error());
  const PipelineShape shape{static_cast<std::uint32_t>(schedule->ranks()), schedule->stages, schedule->micro_batches};
  const auto stage_costs = even_costs(*costs, shape);
  if (!stage_costs) return fail(stage_costs.error());
  const TimedSchedule timed = time_and_weigh(std::move(*schedule), *stage_costs, request.kept_for_weights);
  fmt::print("{}", flags.json ? schedule_json(timed) : schedule_text(timed));
  return ExitCode::kDone;
}

}  // namespace

void add_schedule(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* command = app.add_subcommand("schedule", "Who works on which micro-batch when, in a pipeline of devices");
  command->footer("Example: plimsoll schedule 1f1b --stages 4 --micro-batches 8");
  command->add_option("NAME", flags->request.name, "a schedule")->required();
  command->add_option("--stages", flags->request.ranks, "ranks of the pipeline")->required();
  command->add_option("--micro-batches", flags->request.micro_batches, "parts of the batch")->required();
  command->add_option("--chunks", flags->request.chunks, "stages of a rank");
  command->add_option("--costs", flags->costs,
                      "times of one micro-batch on one rank: forward, input gradient, weight gradient; and of a hop");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = answer_schedule(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
