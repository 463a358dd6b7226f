#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/print/table_output.h"
#include "cli/program/answer_error.h"
#include "formats/published/report_rows.h"
#include "formats/runs/run_file.h"

namespace plimsoll {
namespace {

struct ReportFlags {
  std::string run;
  std::string output;
  bool json = false;
};

std::string rows_json(const std::vector<RowFields>& rows) {
  auto json = nlohmann::ordered_json::array();
  for (const RowFields& row : rows) {
    nlohmann::ordered_json fields;
    for (const auto& [column, text] : row) fields[std::string(column)] = text;
    json.push_back(std::move(fields));
  }
  return json.dump() + "\n";
}

Result<ExitCode> report_run(const ReportFlags& flags) {
  if (const auto place = check_table_output(flags.output); !place) return fail(place.error());
  const auto run = read_run_file(flags.run);
  if (!run) return fail(run.error());
  const auto rows = report_rows(*run, flags.run);
  if (!rows) return fail(rows.error());
  const auto put = put_table(flags.json ? rows_json(*rows) : memory_rows_csv(*rows), flags.output);
  if (!put) return fail(put.error());
  return ExitCode::kDone;
}

}  // namespace

void add_report(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = app.add_subcommand("report", "What a run measured, as anonymous rows that validate accepts");
  command->footer(
      "The rows name no host, user or path; look at them before you pass them on.\n"
      "Example: plimsoll report run.plimsoll -o my-rows.csv && plimsoll validate my-rows.csv");
  command->add_option("RUN", flags->run, "a run file")->required();
  add_table_output(*command, flags->output);
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = report_run(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
