#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/commands.h"
#include "cli/commands/validate_rows.h"
#include "cli/inputs/load_plan.h"
#include "cli/program/answer_error.h"
#include "core/plan/verify_plan.h"
#include "formats/published/published_rows.h"
#include "formats/text/open_file.h"
#include "sim/stack/lowering/allocation_events.h"

namespace plimsoll {
namespace {

Result<ExitCode> validate_plan(const std::string& file, bool json) {
  const auto plan = read_plan_file(file);
  if (!plan) return fail(plan.error());
  if (allocates_while_running(*plan)) return fail(verified(*plan, file).error());
  const auto proof = verify_plan(*plan);
  if (!proof) return fail(proof.error());
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"valid", true},
                                              {"instructions", proof->instructions},
                                              {"checked_uses", proof->checked_uses},
                                              {"expanded_bodies", proof->expanded_bodies}}
                           .dump());
    return ExitCode::kDone;
  }
  fmt::print("{}: obeys the law of plans ({} instructions, {} uses checked over {} steps laid one after another)\n", file,
             proof->instructions, proof->checked_uses, proof->expanded_bodies);
  return ExitCode::kDone;
}

/// The first line, as far as it stands in the first 4 KiB.
Result<std::string> first_line(const std::string& file) {
  constexpr std::int64_t kEnough = 4096;
  const auto open = OpenFile::for_reading(file);
  if (!open) return fail(open.error());
  std::string text(static_cast<std::size_t>(std::min(kEnough, open->size().count)), ' ');
  open->read_at(Bytes(0), std::as_writable_bytes(std::span(text)));
  return text.substr(0, text.find('\n'));
}

/// One file is a plan unless its first line is the header of published rows, or its name says CSV.
Result<bool> is_plan(const RowFlags& flags) {
  if (flags.files.size() != 1 || flags.files.front().ends_with(".csv")) return false;
  const auto line = first_line(flags.files.front());
  if (!line) return fail(line.error());
  return !looks_like_published_rows(*line);
}

Result<ExitCode> validate_files(const RowFlags& flags) {
  const auto plan = is_plan(flags);
  if (!plan) return fail(plan.error());
  return *plan ? validate_plan(flags.files.front(), flags.json) : validate_rows(flags);
}

}  // namespace

void add_validate(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<RowFlags>();
  CLI::App* command = app.add_subcommand(
      "validate", "Prove that a plan obeys the law of plans, or hold published measurements against predictions");
  command->footer(
      "A plan file is told from rows by what is in it. Without files the rows that the program carries are taken.\n"
      "Example: plimsoll validate plan.json\n"
      "Example: plimsoll validate --metric allocated --worst 20\n"
      "Example: plimsoll validate --metric parallel\n"
      "Example: plimsoll validate my-rows.csv --csv");
  command->add_option("FILES", flags->files, "a plan, or CSV files with the columns of data/published/*.csv");
  command->add_flag("--json", flags->json, "machine-readable answer");
  CLI::Option* csv = command->add_flag("--csv", flags->csv, "every row with its prediction, as CSV");
  command->add_option("--family", flags->family, "only rows of one family, for example torchtitan");
  command->add_option(
      "--metric", flags->metric,
      "only one of allocated, reserved, process, device, host, fits, step, cluster step, forward, backward, update, largest, ladder, "
      "operator, inference, parallel");
  command->add_option("--worst", flags->worst, "how many rows to print, worst first")->capture_default_str();
  command->add_flag("--cross", flags->cross, "constants that are fitted on rows, and the error on a family that is left out");
  CLI::Option* page = command->add_flag("--markdown", flags->markdown, "the page RESULTS.md");
  command->add_option("--runs", flags->runs, "stored accuracies of own runs for that page")->needs(page);
  command->add_option("--recorded", flags->recorded, "folder of run files that GPUs made, for that page")->needs(page);
  csv->excludes("--json");
  command->callback([flags, command, &code] {
    const auto ended = validate_files(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
