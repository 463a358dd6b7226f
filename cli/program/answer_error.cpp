#include "cli/program/answer_error.h"

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

nlohmann::ordered_json told(const Error& error, ExitCode code) {
  return {{"kind", to_text(error.kind)},
          {"what", error.what},
          {"where", error.where},
          {"remedy", error.remedy},
          {"exit_code", static_cast<int>(code)}};
}

std::string written(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print_error(const Error& error, ExitCode code) {
  fmt::print("{}\n", written({{"format_version", 1}, {"error", told(error, code)}}, 2));
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

std::string error_json(const Error& error, ExitCode code) { return written(told(error, code), -1); }

void answer_error(const CLI::App& command, const Error& error, ExitCode code) {
  if (asks_json(command)) print_error(error, code);
}

ExitCode report_usage_error(const std::vector<std::string>& words, const Error& error) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--json") != end) print_error(error, ExitCode::kUsage);
  return report_error(error);
}

ExitCode report_error(const CLI::App& command, const Error& error) {
  answer_error(command, error, exit_code_of(error.kind));
  return report_error(error);
}

}  // namespace plimsoll
