#include "cli/answer_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll {
namespace {

bool asks_json(const CLI::App& command) {
  const CLI::Option* json = command.get_option_no_throw("--json");
  if (json != nullptr && json->count() > 0) return true;
  const auto called = command.get_subcommands();
  return std::any_of(called.begin(), called.end(), [](const CLI::App* one) { return asks_json(*one); });
}

}  // namespace

std::string_view to_text(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInput: return "input";
    case ErrorKind::kUnknownName: return "unknown_name";
    case ErrorKind::kInfeasible: return "infeasible";
    case ErrorKind::kUncalibrated: return "uncalibrated";
    case ErrorKind::kDefect: return "defect";
    case ErrorKind::kEnvironment: return "environment";
    case ErrorKind::kInterrupted: return "interrupted";
  }
  return "input";
}

void answer_error(const CLI::App& command, const Error& error) {
  if (!asks_json(command)) return;
  const nlohmann::ordered_json told{{"kind", to_text(error.kind)},
                                    {"what", error.what},
                                    {"where", error.where},
                                    {"remedy", error.remedy},
                                    {"exit_code", static_cast<int>(exit_code_of(error.kind))}};
  const nlohmann::ordered_json answer{{"format_version", 1}, {"error", told}};
  fmt::print("{}\n", answer.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

ExitCode report_error(const CLI::App& command, const Error& error) {
  answer_error(command, error);
  return report_error(error);
}

}  // namespace plimsoll
