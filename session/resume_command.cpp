#include "session/resume_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;

/// As a shell reads it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string typed_value(const RunRequest& request, const std::string& option) {
  const auto is_it = [&](const auto& typed) { return typed.first == option; };
  const auto found = std::find_if(request.typed.begin(), request.typed.end(), is_it);
  return found == request.typed.end() ? std::string() : found->second;
}

}  // namespace

std::string resume_command(const RunRequest& request, const std::vector<std::pair<std::string, std::string>>& instead) {
  std::vector<std::pair<std::string, std::string>> options{{"--resume", request.output},
                                                           {"--data", request.data},
                                                           {"--steps", std::to_string(request.schedule.end_step)}};
  const auto put = [&](const std::string& name, const std::string& value) {
    const auto found = std::find_if(options.begin(), options.end(), [&](const auto& option) { return option.first == name; });
    (found == options.end() ? options.emplace_back(name, value) : *found).second = value;
  };
  for (const auto& [name, value] : request.typed) {
    if (name != "--data" && name != "--steps") put(name, value);
  }
  for (const auto& [name, value] : instead) put(name, value);
  std::string text = "plimsoll run";
  for (const auto& [name, value] : options) text += " " + name + (value.empty() ? std::string() : " " + quoted(value));
  return text + " -o FILE";
}

std::string ssd_option(const RunRequest& request, const ExpectedRates& rates) {
  const std::string typed = typed_value(request, "--ssd");
  std::string size = typed.substr(0, typed.find(':'));
  if (const auto drive = request.machine.space(SpaceKind::kSsd); size.empty() && drive) {
    size = fmt::format("{}B", request.machine.at(*drive).usable.count);
  }
  return fmt::format("{}:{:.3g},{:.3g}", size, rates.read / kGiga, rates.write / kGiga);
}

std::string with_offer(const RunRequest& request, const RunWarning& warning) {
  if (!warning.drive_reaches) return warning.text;
  const std::string command = resume_command(request, {{"--ssd", ssd_option(request, *warning.drive_reaches)}});
  return warning.text + "; to plan anew for what it reaches, stop the run (Ctrl-C saves a checkpoint) and go on with: " + command;
}

}  // namespace plimsoll
