#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/commands/recompute_log.h"
#include "cli/inputs/target_machine.h"
#include "cli/options/machine_flags.h"
#include "cli/options/parse_rate.h"
#include "cli/options/size_option.h"
#include "cli/options/training_flags.h"
#include "cli/print/output_file.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "formats/plans/chain_json.h"
#include "formats/text/json_text.h"
#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "formats/traces/read_operator_log.h"
#include "sim/planner/chains/compare_chain_plans.h"
#include "sim/planner/chains/model_chain.h"
#include "sim/planner/chains/offload_chain.h"

namespace plimsoll {
namespace {

constexpr Bytes kMostText{256 * kMiB.count};

struct RecomputeFlags {
  std::string file;
  MachineFlags machine;
  TrainingFlags training;
  std::string calibration;
  std::string save_chain;
  std::string budget;
  std::string link, host;
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

/// What sending away over a link makes of it; nothing without --link.
struct LinkAnswer {
  ChainLink link;
  std::optional<OffloadPlan> plan;
};

std::string stretches_json(const OffloadPlan& plan) {
  std::vector<std::string> items;
  for (const OffloadStretch& stretch : plan.stretches) {
    JsonLine line;
    line.integer("first", static_cast<std::int64_t>(stretch.first)).integer("last", static_cast<std::int64_t>(stretch.last));
    line.flag("saved", stretch.saves);
    if (stretch.saves) line.integer("option", stretch.option).integer("sent_bytes", stretch.sent.count);
    items.push_back(line.integer("ahead_bytes", stretch.ahead.count).str());
  }
  return json_list(items);
}

std::string link_json(const LinkAnswer& answer) {
  JsonLine line;
  line.number("bytes_per_second", answer.link.bytes_per_second).integer("host_budget_bytes", answer.link.host.count);
  line.flag("feasible", answer.plan.has_value());
  if (!answer.plan) return line.raw("time", "null").raw("stretches", "[]").str();
  const OffloadReplay& replay = answer.plan->replay;
  line.number("time", replay.seconds).number("waiting", replay.waiting).flag("exact", answer.plan->exact);
  line.integer("peak_bytes", replay.peak.count).integer("host_bytes", replay.host.count);
  return line.raw("stretches", stretches_json(*answer.plan)).str();
}

/// A chain's unit may be anything: what is no time that nanoseconds tell is a number.
std::string time_text(double seconds) {
  constexpr double kLeast = 1e-6, kMost = 1e9;
  return seconds == 0 || (seconds >= kLeast && seconds <= kMost) ? to_text(from_seconds(seconds)) : fmt::format("{:.6g} s", seconds);
}

void print_link(const LinkAnswer& answer) {
  if (!answer.plan) {
    fmt::print("  with a link of {:.4g} GB/s nothing fits either\n", answer.link.bytes_per_second * 1e-9);
    return;
  }
  const OffloadReplay& replay = answer.plan->replay;
  fmt::print("  with a link of {:.4g} GB/s: {}, of these {} waiting for it{}\n", answer.link.bytes_per_second * 1e-9,
             time_text(replay.seconds), time_text(replay.waiting),
             answer.plan->exact ? "" : " (the best of those that were tried)");
  fmt::print("  {} wait in host memory, {} are held at the peak\n", to_text(replay.host), to_text(replay.peak));
}

void print_json(const ChainAnswer& answer, const std::optional<LinkAnswer>& link, bool with_curve) {
  JsonLine line = plan_line(answer);
  line.raw("lower_bound", number_or_null(answer.lower_bound)).flag("exact", answer.exact);
  line.raw("persistent_lower_bound", number_or_null(answer.persistent_bound));
  line.integer("minimum_bytes", answer.curve.front().bytes.count);
  line.number("minimum_time", answer.curve.back().seconds).raw("baselines", plans_json(answer.baselines));
  if (link) line.raw("link", link_json(*link));
  if (with_curve) line.raw("curve", curve_json(answer.curve));
  fmt::print("{}\n", line.str());
}

/// Sums that were made in another order may differ in their last digits.
double percent_above(double seconds, double least) { return least > 0 ? std::max(0.0, 100 * (seconds / least - 1)) : 0; }

void print_plan(const std::string& name, const ChainReplay& replay, bool fits) {
  fmt::print("  {:<28}{:>16}{:>14}{}\n", name, time_text(replay.seconds), to_text(replay.peak),
             fits ? "" : "   does not fit");
}

void print_text(const std::string& file, const ChainAnswer& answer) {
  const CurveStep& least = answer.curve.front();
  const double plain = answer.curve.back().seconds;
  if (!answer.best) {
    fmt::print("{} does not fit in {}: the least is {} bytes, in {}\n", file, to_text(answer.budget), least.bytes.count,
               time_text(least.seconds));
  } else {
    const double seconds = answer.best->replay.seconds;
    fmt::print("{} in {}: {}, {:.1f} % above {} without recomputation\n", file, to_text(answer.budget), time_text(seconds),
               percent_above(seconds, plain), time_text(plain));
    fmt::print("  the best of all schedules that keep what they keep until its backward{}\n",
               answer.exact
                   ? std::string()
                   : fmt::format(", to {:.2g} %", percent_above(seconds, answer.persistent_bound.value_or(0))));
    fmt::print("  no schedule takes less than {}; the least memory is {} bytes, in {}\n",
               time_text(answer.lower_bound.value_or(0)), least.bytes.count, time_text(least.seconds));
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
  if (!flags.save_chain.empty()) {
    if (const auto usable = check_replaceable(flags.save_chain, FileKind::kJson); !usable) return usable;
  }
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

/// A log of operators has no blocks, and so no curve and no link.
Result<void> check_log_options(const RecomputeFlags& flags) {
  if (flags.link.empty() && flags.save_chain.empty() && !flags.curve) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "--link, --save-chain and --curve are for chains, and this is a log of operators",
               .where = flags.file,
               .remedy = "leave them out"});
}

/// The chain of a model's micro-batch on the machine that the flags mean.
Result<BlockChain> chain_of_model(const RecomputeFlags& flags) {
  const auto model = describe_model(flags.file, flags.training);
  if (!model) return fail(model.error());
  auto machine = find_target_machine(flags.machine, flags.calibration);
  if (!machine) return fail(machine.error());
  const auto recipe = make_recipe(flags.training, model->spec, machine->precision, machine->precision_reason, machine->notes);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  return model_chain(model->spec, *recipe, machine->platform, *machine->costs);
}

/// Of a machine the chain's times are the GPU's, and what it may hold is the budget.
Result<void> check_machine_options(const CLI::App& command) {
  for (const char* name : {"--ram", "--ssd", "--ssd-folder", "--pcie", "--device-memory", "--desktop", "--gpus"}) {
    if (command.count(name) == 0) continue;
    return fail(
        {.kind = ErrorKind::kInput,
         .what = fmt::format("{} says nothing of a chain, which is timed on the GPU alone", name),
         .where = {},
         .remedy = "leave it out: --budget says what may be held, --link and --host what may leave for host memory"});
  }
  return {};
}

/// Options that say something of a model mean nothing for a chain that is written out.
Result<void> check_chain_options(const CLI::App& command, const RecomputeFlags& flags) {
  if (!flags.machine.gpu.empty() || !flags.machine.machine_file.empty()) return check_machine_options(command);
  const std::set<std::string> own{"CHAIN", "--budget", "--link", "--host", "--save", "--curve", "--json", "--help"};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || own.contains(option->get_name())) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} is for a model, and a chain file has its own times and sizes", option->get_name()),
                 .where = flags.file,
                 .remedy = "leave it out, or name a model and a machine: plimsoll recompute MODEL --on GPU"});
  }
  return {};
}

/// Nothing where no link is said.
Result<std::optional<ChainLink>> read_link(const RecomputeFlags& flags) {
  if (flags.link.empty()) return std::optional<ChainLink>();
  const auto rate = parse_rate(flags.link, "--link");
  if (!rate) return fail(rate.error());
  const auto host = flags.host.empty() ? Result<Bytes>(Bytes(std::int64_t{1} << 60)) : read_size("--host", flags.host);
  if (!host) return fail(host.error());
  return ChainLink{*rate, *host};
}

Result<ExitCode> recompute(const RecomputeFlags& flags) {
  const bool of_model = !flags.machine.gpu.empty() || !flags.machine.machine_file.empty();
  const auto budget = of_model ? read_large_size("--budget", flags.budget) : read_size("--budget", flags.budget);
  if (!budget) return fail(budget.error());
  const auto link = read_link(flags);
  if (!link) return fail(link.error());
  if (const auto usable = check_output(flags); !usable) return fail(usable.error());
  const auto text = of_model ? Result<std::string>(std::string()) : read_text_file(flags.file, kMostText);
  if (!text) return fail(text.error());
  if (is_operator_log(*text)) {
    if (const auto usable = check_log_options(flags); !usable) return fail(usable.error());
    return recompute_log({flags.file, *text, *budget, flags.save, flags.json});
  }
  const auto chain = of_model ? chain_of_model(flags) : read_chain(*text, flags.file);
  if (!chain) return fail(chain.error());
  if (!flags.save_chain.empty()) write_text_file(flags.save_chain, chain_json(*chain));
  std::optional<LinkAnswer> sent;
  const auto answer = [&] {
    const WaitingLine waiting("looking for the best schedule");
    const ChainCurve curve(*chain);
    if (*link) sent = LinkAnswer{**link, offload_chain(*chain, curve, **link, *budget)};
    return compare_chain_plans(*chain, curve, *budget);
  }();
  if (!answer) return fail(answer.error());
  if (answer->best && !flags.save.empty()) write_text_file(flags.save, plan_line(*answer).str() + "\n");
  if (flags.json) {
    print_json(*answer, sent, flags.curve);
  } else if (flags.curve) {
    print_curve(answer->curve);
  } else {
    print_text(flags.file, *answer);
    if (sent) print_link(*sent);
  }
  return answer->best || (sent && sent->plan) ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_recompute(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<RecomputeFlags>();
  CLI::App* command =
      app.add_subcommand("recompute", "Decide what a chain of blocks, or a program, keeps and what it computes again");
  command->footer(
      "CHAIN.json has the times and sizes of each block (docs/plan-format.md). The answer is the fastest order of "
      "forwards and\n"
      "backwards within the budget, beside keeping everything, square-root segments and Revolve; exit code 3 when none "
      "fits.\n"
      "With --on the chain is that of a model's micro-batch: its blocks' ways to keep and to compute again, timed by the\n"
      "catalogue; the budget is then of activations beside the weights.\n"
      "LOG is a log of a program's operators as DTR's tools write it (lines of JSON with an INSTRUCTION each): what of any\n"
      "graph is kept, freed and run again, and when, beside what DTR's heuristics make of it.\n"
      "With --link it is told, too, what keeping, computing again and sending to host memory, chosen together, take.\n"
      "Example: plimsoll recompute chain.json --budget 3GiB --save schedule.json\n"
      "         plimsoll recompute chain.json --budget 3GiB --link 12GB/s --host 8GiB\n"
      "         plimsoll recompute unet.log --budget 4GiB --json\n"
      "         plimsoll recompute gpt2-xl --on \"RTX 2060 6GB\" --budget 1GiB --save-chain chain.json");
  command->add_option("CHAIN", flags->file, "a JSON file, a log of operators, or with --on a model")->required();
  command
      ->add_option("--budget", flags->budget,
                   "bytes beside the chain's own input, or of all that a log's program holds, as in 1048576 or 3GiB")
      ->required();
  CLI::Option* link =
      command->add_option("--link", flags->link, "bytes a second that can leave for host memory, and come back, as in 12GB/s");
  command->add_option("--host", flags->host, "bytes that may wait in host memory (default: any number)")->needs(link);
  command->add_option("--save", flags->save, "where the schedule goes, as JSON");
  command->add_option("--save-chain", flags->save_chain, "where a model's chain goes, as JSON");
  add_machine_flags(*command, flags->machine);
  add_shape_flags(*command, flags->training);
  command->add_option("--calibration", flags->calibration, "measurements that replace the catalogue's");
  command->add_flag("--curve", flags->curve, "print the least time for every budget");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto usable = check_chain_options(*command, *flags);
    const Result<ExitCode> ended = usable ? recompute(*flags) : Result<ExitCode>(fail(usable.error()));
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
