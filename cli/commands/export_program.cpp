#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/inputs/load_plan.h"
#include "cli/options/export_flags.h"
#include "cli/options/foreign_options.h"
#include "cli/print/output_file.h"
#include "cli/print/print_fit.h"
#include "cli/print/waiting_line.h"
#include "formats/exporters/export_target.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file.h"
#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/fit_answer.h"
#include "sim/stack/exported_setup.h"
#include "sim/stack/lowering/allocation_events.h"
#include "sim/stack/megatron/check_megatron.h"
#include "sim/stack/setup_on.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestPlanFile{std::int64_t{1} << 30};

/// What is exported, and whether it fits.
struct Found {
  ExportedTraining training;
  bool fits = true;
};

tl::unexpected<Error> refuse(std::string what, std::string where, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

/// A plan file and not a model's config: it has bodies.
bool is_plan(const std::string& path) {
  if (!is_of_kind(path, FileKind::kJson)) return false;
  const auto text = read_text_file(path, kLargestPlanFile);
  return text && text->find("\"bodies\"") != std::string::npos;
}

Result<Found> from_plan(const ExportFlags& flags, const Plan& plan) {
  if (const auto alone = check_export_alone(flags); !alone) return fail(alone.error());
  if (allocates_while_running(plan)) {
    return refuse(fmt::format("the plan is of {}, whose setup it does not tell", plan.strategy.name), flags.asked.model,
                  "export the training: name the model with --stack and its options");
  }
  auto training = exported_training(plan);
  if (!training) return fail(training.error());
  return Found{.training = std::move(*training)};
}

Result<Found> from_run(const ExportFlags& flags) {
  const auto run = read_run_file(flags.asked.model);
  if (!run) return fail(run.error());
  const Plan* plan = run->last_plan();
  if (plan == nullptr && !run->plans.empty()) plan = &run->plans.back().plan;
  if (plan == nullptr) return refuse("the run file holds no plan", flags.asked.model, "name a plan file or a model");
  return from_plan(flags, *plan);
}

void foretell(const FitAnswer& answer, const AskedQuestion& asked, ExportedTraining& training) {
  training.foretold.push_back(fmt::format("{} on {}: {:.4g} s a step, {:.4g} tokens a second, {}",
                                          answer.fits ? "fits" : "does not fit", asked.machine, answer.step_seconds,
                                          answer.tokens_per_second,
                                          asked.question.stack ? "under its own software" : "run by plimsoll"));
  for (const SpaceAnswer& space : answer.memory) {
    training.foretold.push_back(
        fmt::format("{}: needs {} of {} usable", space.space, to_text(space.peak), to_text(space.usable)));
  }
}

/// What else is asked of a training by Megatron-LM's FSDP, as of one by its distributed optimizer.
Result<void> check_beside_fsdp(const Question& question, StackSetup setup) {
  setup.zero = 1;
  const std::string capability = question.machine ? gpu_in(question.machine->gpu, question.machine->options).compute_capability : std::string();
  return check_megatron(question.spec, question.recipe, setup, capability);
}

Result<Found> from_setup(const AskedQuestion& asked) {
  const Question& question = asked.question;
  const StackSetup setup = question.machine ? setup_on(*question.stack, question.machine->options) : *question.stack;
  auto training = exported_training(question.spec, question.recipe, setup);
  if (!training) return fail(training.error());
  if (takes_megatron_fsdp(setup)) {
    if (const auto known = check_beside_fsdp(question, setup); !known) return fail(known.error());
    training->foretold.emplace_back("nothing: Megatron-LM's own FSDP is not modelled");
    return Found{.training = std::move(*training)};
  }
  const WaitingLine waiting("simulating the program's allocations");
  const auto answer = answer_question(question);
  if (!answer) return fail(answer.error());
  foretell(*answer, asked, *training);
  return Found{.training = std::move(*training), .fits = answer->fits};
}

Result<Found> from_search(const AskedQuestion& asked) {
  const Question& question = asked.question;
  const SearchProblem problem{question.spec, question.recipe, question.platform, *question.costs};
  const WaitingLine waiting("searching for the fastest plan that fits");
  const auto search = search_plan(problem.spec, problem.recipe, problem.platform, problem.costs,
                                  {.strategy = question.strategy, .exact = question.exact});
  if (!search) return fail(search.error());
  if (!search->plan) {
    return fail({.kind = ErrorKind::kInfeasible,
                 .what = "no plan fits, so there is none to export",
                 .where = question.spec.name,
                 .remedy = "plimsoll fit with the same options says what would"});
  }
  const auto answer = fit_answer(*search, problem, false);
  if (!answer) return fail(answer.error());
  auto training = exported_training(*search->plan);
  if (!training) return fail(training.error());
  foretell(*answer, asked, *training);
  return Found{.training = std::move(*training)};
}

Result<Found> from_question(const ExportFlags& flags) {
  auto asked = read_question(flags.asked);
  if (!asked) return fail(asked.error());
  if (asked->question.strategy == "all") return refuse("one strategy is exported, not all", "--strategy", "choose one");
  for (const std::string& note : asked->notes) fmt::print(stderr, "plimsoll: assumed: {}\n", note);
  return asked->question.stack ? from_setup(*asked) : from_search(*asked);
}

Result<Found> find_training(const ExportFlags& flags) {
  const std::string& name = flags.asked.model;
  if (is_of_kind(name, FileKind::kRunFile)) return from_run(flags);
  if (!is_plan(name)) return from_question(flags);
  const auto plan = read_plan_file(name);
  if (!plan) return fail(plan.error());
  return from_plan(flags, *plan);
}

std::string script_beside(const std::string& output) {
  return std::filesystem::path(output).replace_extension(".py").string();
}

Result<void> check_output(const ExportFlags& flags) {
  if (flags.output.empty()) return {};
  const bool json = std::filesystem::path(flags.output).extension() == ".json";
  return check_replaceable(flags.output, json ? FileKind::kJson : FileKind::kExported);
}

void print_json(const ExportFlags& flags, ExportTarget target, const Found& found, const ExportedText& made) {
  const bool script = !flags.output.empty() && !made.script.empty();
  const nlohmann::ordered_json object{
      {"format_version", 1}, {"target", to_text(target)}, {"of", found.training.origin},
      {"fits", found.fits},  {"file", flags.output},      {"script", script ? script_beside(flags.output) : ""},
      {"notes", made.notes}, {"text", made.text}};
  fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void write_out(const ExportFlags& flags, ExportTarget target, const ExportedText& made) {
  for (const std::string& note : made.notes) fmt::print(stderr, "plimsoll: note: {}\n", note);
  if (flags.output.empty()) {
    if (!flags.json) fmt::print("{}", made.text);
    if (!made.script.empty()) fmt::print(stderr, "plimsoll: -o FILE writes the script that applies it beside it\n");
    return;
  }
  write_text_file(flags.output, made.text);
  fmt::print(stderr, "plimsoll: wrote {} for {}\n", flags.output, to_text(target));
  if (made.script.empty()) return;
  write_text_file(script_beside(flags.output), made.script);
  fmt::print(stderr, "plimsoll: wrote {}, which applies it\n", script_beside(flags.output));
}

}  // namespace

Result<ExitCode> export_to_program(const ExportFlags& flags) {
  if (const auto known = check_export_target(flags.target); !known) return fail(with_own_value(known.error(), "--to", flags.target));
  if (const auto usable = check_output(flags); !usable) return fail(usable.error());
  auto found = find_training(flags);
  if (!found) return fail(found.error());
  if (!flags.nvme.empty()) found->training.nvme = flags.nvme;
  const auto target = parse_export_target(flags.target, found->training);
  if (!target) return fail(target.error());
  const auto made = export_training(*target, found->training);
  if (!made) return fail(made.error());
  if (!made->script.empty() && !flags.output.empty() && script_beside(flags.output) == flags.output) {
    return refuse("the script beside it would have the same name", flags.output, "end the name with .json");
  }
  write_out(flags, *target, *made);
  if (flags.json) print_json(flags, *target, *found, *made);
  if (found->fits) return ExitCode::kDone;
  fmt::print(stderr, "plimsoll: it is foretold not to fit\n");
  return ExitCode::kMissed;
}

}  // namespace plimsoll
