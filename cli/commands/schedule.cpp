#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/print/output_file.h"
#include "cli/print/print_schedule.h"
#include "cli/program/answer_error.h"
#include "core/schedule/verify_schedule.h"
#include "formats/schedules/schedule_file.h"
#include "formats/text/write_text_file.h"
#include "sim/schedule/draw_schedule.h"
#include "sim/schedule/make_schedule.h"
#include "sim/schedule/read_stage_costs.h"

namespace plimsoll {
namespace {

struct ScheduleFlags {
  ScheduleRequest request;
  std::string file;
  std::string costs = "1,1,1,0";
  double pair_time = 1;
  std::string svg;
  std::string csv;
  bool list = false;
  bool json = false;
};

tl::unexpected<Error> refuse(std::string where, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = remedy});
}

/// A name with sizes, or a file without.
Result<void> check_flags(const ScheduleFlags& flags) {
  const ScheduleRequest& request = flags.request;
  if (!flags.file.empty()) {
    if (!request.name.empty()) return refuse("--file", "a name and a file", "give one of them");
    if (request.ranks != 0 || request.micro_batches != 0 || request.chunks || !request.replicas.empty()) {
      return refuse("--file", "a file says its own --stages, --micro-batches, --chunks and replicas", "leave them out");
    }
  } else {
    if (request.name.empty()) return refuse("", "no schedule", "give a NAME or --file; --list shows the names");
    if (request.ranks == 0) return refuse("--stages", "missing or 0", "say how many ranks the pipeline has");
    if (request.micro_batches == 0) return refuse("--micro-batches", "missing or 0", "say how many there are");
  }
  const bool share = request.kept_for_weights >= 0 && request.kept_for_weights <= 1;
  if (!share) return refuse("--keep-for-weights", fmt::format("{}", request.kept_for_weights), "take 0 to 1");
  const bool pair = flags.pair_time >= 0.5 && flags.pair_time <= 2;
  if (!pair) return refuse("--pair-time", fmt::format("{}", flags.pair_time), "take 0.5 to 2");
  return {};
}

/// Options that only some named schedules have a use for.
Result<void> check_kind(const ScheduleRequest& request) {
  const std::string& name = request.name;
  const bool pairs = name == "dualpipe" || name == "dualpipe-v";
  if (request.group && name != "interleaved")
    return refuse("--group", "it is of the schedule interleaved", "leave it out");
  if (request.overlapped && !pairs)
    return refuse("--overlapped", "it is of the schedules dualpipe and dualpipe-v", "leave it out");
  if (request.vertical_sync && name != "pipedream")
    return refuse("--vertical-sync", "it is of the schedule pipedream", "leave it out");
  return {};
}

/// Times and shares of what the orders do not have would be ignored.
Result<void> check_orders(const ScheduleFlags& flags, const PipelineSchedule& schedule) {
  bool pairs = false, weights = false;
  for (const auto& order : schedule.orders) {
    for (const PipelineOp& op : order) {
      pairs = pairs || op.with_next;
      weights = weights || op.work == PipelineWork::kWeightGradient;
    }
  }
  if (flags.pair_time != 1 && !pairs)
    return refuse("--pair-time", "no op overlaps another in these orders",
                  "leave it out, or add --overlapped to dualpipe");
  if (flags.request.kept_for_weights != 1 && !weights)
    return refuse("--keep-for-weights", "no weight gradient stands alone in these orders",
                  "leave it out, or take a zero-bubble schedule");
  return {};
}

Result<void> read_costs(const std::string& text, ScheduleRequest& request) {
  if (!std::filesystem::is_regular_file(text)) {
    const auto costs = parse_rank_costs(text);
    if (!costs) return fail(costs.error());
    request.costs = *costs;
    return {};
  }
  auto costs = read_stage_costs(text);
  if (!costs) return fail(costs.error());
  request.stage_costs = std::move(*costs);
  return {};
}

Result<StageCosts> costs_of(const PipelineSchedule& schedule, const ScheduleRequest& request) {
  const PipelineShape shape{static_cast<std::uint32_t>(schedule.ranks_of_model()), schedule.stages,
                            schedule.micro_batches};
  return request.stage_costs.empty() ? even_costs(request.costs, shape) : uneven_costs(request.stage_costs, shape);
}

/// A file of orders may be replaced by orders only.
Result<void> check_csv(const std::string& path) {
  if (auto place = check_place(path); !place) return place;
  if (!std::filesystem::exists(path) || std::filesystem::is_empty(path) || read_schedule_file(path)) return {};
  return refuse(path, "this holds no orders, so it is not replaced", "choose another name");
}

Result<void> write_files(const ScheduleFlags& flags, const TimedSchedule& timed) {
  if (!flags.csv.empty()) {
    if (auto sound = check_csv(flags.csv); !sound) return sound;
    write_text_file(flags.csv, schedule_csv(timed.schedule));
  }
  if (!flags.svg.empty()) {
    if (auto sound = check_replaceable(flags.svg, FileKind::kSvg); !sound) return sound;
    write_text_file(flags.svg, draw_svg(timed.schedule, timed.costs, timed.timing));
  }
  return {};
}

/// Refused with code 3: a rank holds more than the cap.
std::optional<Error> check_cap(const TimedSchedule& timed, const ScheduleRequest& request) {
  const double most = *std::max_element(timed.peak_activations.begin(), timed.peak_activations.end());
  if (!request.memory_cap || most <= *request.memory_cap + 1e-9) return {};
  return Error{.kind = ErrorKind::kInfeasible,
               .what = fmt::format("a rank holds activations of {:g} micro-batches", most),
               .where = fmt::format("--memory-cap {:g}", *request.memory_cap),
               .remedy = "'plimsoll schedule auto' builds a schedule within a cap"};
}

void print_names(bool json) {
  auto names = nlohmann::ordered_json::array();
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (json) names.push_back({{"name", kind.name}, {"about", kind.about}});
    else fmt::print("{:<12} {}\n", kind.name, kind.about);
  }
  if (json) fmt::print("{}\n", names.dump(2));
}

Result<ExitCode> answer_schedule(const ScheduleFlags& flags) {
  if (flags.list) return print_names(flags.json), ExitCode::kDone;
  if (auto sound = check_flags(flags); !sound) return fail(sound.error());
  ScheduleRequest request = flags.request;
  if (auto read = read_costs(flags.costs, request); !read) return fail(read.error());
  if (auto used = check_kind(request); !used) return fail(used.error());
  auto schedule = flags.file.empty() ? make_schedule(request) : read_schedule_file(flags.file);
  if (!schedule) return fail(schedule.error());
  if (auto verified = verify_schedule(*schedule); !verified) {
    Error error = verified.error();
    if (!flags.file.empty() && error.where != flags.file) error.where = flags.file + ": " + error.where;
    return fail(std::move(error));
  }
  if (auto used = check_orders(flags, *schedule); !used) return fail(used.error());
  auto costs = costs_of(*schedule, request);
  if (!costs) return fail(costs.error());
  costs->pair_share = flags.pair_time;
  const TimedSchedule timed = time_and_weigh(std::move(*schedule), std::move(*costs), request.kept_for_weights);
  if (auto written = write_files(flags, timed); !written) return fail(written.error());
  const auto over = check_cap(timed, request);
  const std::string refusal = over ? error_json(*over, exit_code_of(over->kind)) : std::string();
  fmt::print("{}", flags.json ? schedule_json(timed, refusal) : schedule_text(timed));
  return over ? report_error(*over) : ExitCode::kDone;
}

void add_size_options(CLI::App& command, ScheduleFlags& flags) {
  ScheduleRequest& request = flags.request;
  request.ranks = 0;
  request.micro_batches = 0;
  command.add_option("NAME", request.name, "a schedule (--list shows them)");
  command.add_option("--file", flags.file, "orders of your own: JSON as --json writes it, or PyTorch's pipeline CSV");
  command.add_option("--stages", request.ranks, "ranks of the pipeline");
  command.add_option("--micro-batches", request.micro_batches, "parts of the batch");
  command.add_option("--chunks", request.chunks, "stages of a rank");
  command.add_option("--group", request.group, "interleaved: micro-batches that pass a chunk one after another");
  command
      .add_option("--stage-replicas", request.replicas,
                  "pipedream: ranks of each stage, which micro-batches go round, as 2,1")
      ->delimiter(',');
  command.add_flag("--overlapped", request.overlapped,
                   "dualpipe, dualpipe-v: forward and backward of the middle as one");
  command.add_flag("--vertical-sync", request.vertical_sync, "pipedream: every stage uses the first one's version");
}

void add_cost_options(CLI::App& command, ScheduleFlags& flags) {
  command.add_option(
      "--costs", flags.costs,
      "F,I,W,C: times of one micro-batch on one full rank (forward, input gradient, weight gradient) and of "
      "a hop; or a CSV file with the columns stage,forward,input_gradient,weight_gradient[,hop]");
  command.add_option("--pair-time", flags.pair_time,
                     "time of an overlapped pair, as a share of its two ops (default 1)");
  command.add_option("--memory-cap", flags.request.memory_cap,
                     "most activations that a rank may hold, in micro-batches of a full rank");
  command.add_option("--keep-for-weights", flags.request.kept_for_weights,
                     "share of a micro-batch's activations that waits from I to W (default 1)");
}

}  // namespace

void add_schedule(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* command = app.add_subcommand("schedule", "Who works on which micro-batch when, in a pipeline of devices");
  command->footer("Example: plimsoll schedule 1f1b --stages 4 --micro-batches 8");
  add_size_options(*command, *flags);
  add_cost_options(*command, *flags);
  command->add_option("--svg", flags->svg, "write the drawing to this file");
  command->add_option("--csv", flags->csv, "write the orders to this file, as PyTorch's pipeline schedules load them");
  command->add_flag("--list", flags->list, "the names of all schedules");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = answer_schedule(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
