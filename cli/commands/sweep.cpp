#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options/parallel_flags.h"
#include "cli/print/print_layouts.h"
#include "cli/print/spread_lines.h"
#include "cli/print/table_output.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "formats/text/json_text.h"
#include "sim/parallel/sweep_layouts.h"

namespace plimsoll {
namespace {

struct SweepFlags {
  std::string model;
  std::vector<std::string> vary;
  MachineFlags machine;
  TrainingFlags training;
  StackFlags stack;
  ParallelFlags parallel;
  std::string output;
  bool json = false;
  bool csv = false;
};

std::string json_item(const SweptLayout& swept) {
  JsonLine line;
  line.text("layout", describe(swept.layout));
  if (!swept.answer) return line.text("error", swept.refusal).str();
  const ParallelAnswer& a = *swept.answer;
  line.number("step_seconds", a.step_seconds)
      .number("tokens_per_second", a.tokens_per_second)
      .number("bubble_fraction", a.bubble_fraction);
  return line.integer("peak_bytes", a.peak().count).flag("fits", a.fits()).text("limit", a.limit).str();
}

std::string csv_line(const SweptLayout& swept) {
  return swept.answer ? layout_csv_line(*swept.answer) : refused_csv_line(swept.layout, swept.refusal);
}

std::string table(const SweepFlags& flags, const std::vector<std::string>& lines) {
  if (flags.json) return JsonLine().integer("format_version", 1).raw("layouts", json_lines(lines, 2)).str() + "\n";
  return fmt::format("{}{}", layouts_csv_header(), fmt::join(lines, ""));
}

/// A sweep as it was asked for, ready for any share of it.
Result<SharedLines> ask(const CLI::App& command, const SweepFlags& flags) {
  if (const auto place = check_table_output(flags.output); !place) return fail(place.error());
  auto asked = read_parallel(flags.model, flags.parallel, flags.stack, flags.machine, flags.training);
  if (!asked) return fail(asked.error());
  const auto request = read_layout(command, flags.parallel, flags.stack, flags.training);
  if (!request) return fail(request.error());
  std::vector<LayoutVariation> variations;
  for (const std::string& text : flags.vary) {
    auto variation = parse_variation(text);
    if (!variation) return fail(variation.error());
    if (const CLI::Option* fixed = command.get_option_no_throw("--" + variation->key);
        fixed != nullptr && fixed->count() > 0) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("--vary {} varies what {} fixes", text, fixed->get_name()),
                   .where = "--vary",
                   .remedy = "leave one of them out"});
    }
    variations.push_back(std::move(*variation));
  }
  const auto shared = std::make_shared<const AskedParallel>(std::move(*asked));
  using Lines = Result<std::vector<std::string>>;
  return [shared, request = *request, variations, json = flags.json](const SweepShare& share) -> Lines {
    const auto swept = sweep_layouts(shared->question, request, variations, share);
    if (!swept) return fail(swept.error());
    std::vector<std::string> lines;
    for (const SweptLayout& one : *swept) lines.push_back(json ? json_item(one) : csv_line(one));
    return lines;
  };
}

Result<ExitCode> sweep(const CLI::App& command, const SweepFlags& flags) {
  const auto asked = ask(command, flags);
  std::optional<WaitingLine> waiting("timing layouts");
  const auto lines = spread_lines([&](const SweepShare& share) -> Result<std::vector<std::string>> {
    if (!asked) return fail(asked.error());
    return (*asked)(share);
  });
  waiting.reset();
  if (!lines) return fail(lines.error());
  if (lines->empty()) return ExitCode::kDone;  // the first of several processes prints for all
  if (const auto put = put_table(table(flags, *lines), flags.output); !put) return fail(put.error());
  return ExitCode::kDone;
}

}  // namespace

void add_sweep(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = app.add_subcommand("sweep", "Layouts of a model on many devices, one a line, as CSV");
  command->footer(
      "Example: plimsoll sweep gpt3-175b --on \"A100 80GB\" --gpus 512 --global-batch 1536 --tp 8 --vary pp=8,16,32 "
      "--vary micro-batch=1..4\n"
      "Layouts that do not divide stand there with what they do not divide.\n"
      "Started by mpirun, each process times its share and the first one prints all: mpirun -n 4 plimsoll sweep ...");
  command->add_option("MODEL", flags->model, "as fit takes it")->required();
  command
      ->add_option(
          "--vary", flags->vary,
          "KEY=A,B,C or KEY=A..B; keys: dp tp pp cp ep zero chunks micro-batch global-batch schedule recompute "
          "sequence-parallel; may be repeated")
      ->required();
  add_layout_flags(*command, flags->machine, flags->stack);
  add_parallel_flags(*command, flags->parallel);
  add_shape_flags(*command, flags->training);
  add_table_output(*command, flags->output);
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->add_flag("--csv", flags->csv, "CSV, as without it")->excludes("--json");
  command->callback([flags, command, &code] {
    const auto ended = sweep(*command, *flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
