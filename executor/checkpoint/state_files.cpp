#include "executor/checkpoint/state_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "executor/checkpoint/training_state.h"
#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_error(std::string_view what, const std::error_code& problem, const std::string& path) {
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("{}: {}", what, problem.message()),
                          .where = path,
                          .remedy = {}});
}

bool knows_no_links(const std::error_code& problem) {
  return problem == std::errc::operation_not_permitted || problem == std::errc::operation_not_supported ||
         problem == std::errc::function_not_supported || problem == std::errc::too_many_links;
}

void remove_file(const std::string& path) {
  std::error_code problem;
  fs::remove(path, problem);
  if (problem) throw_error("cannot be removed", problem, path);
}

}  // namespace

StateFiles state_files_of(const std::string& run_file) {
  return {.checkpoint = run_file + ".checkpoint.safetensors",
          .previous = run_file + ".checkpoint.previous.safetensors",
          .steps = {run_file + ".step-0.safetensors", run_file + ".step-1.safetensors"}};
}

void keep_previous(const StateFiles& files) {
  std::error_code problem;
  if (!fs::exists(files.checkpoint, problem)) return;
  const std::string beside = files.previous + ".tmp";
  fs::remove(beside, problem);  // of a run that was killed here
  fs::create_hard_link(files.checkpoint, beside, problem);
  if (problem && knows_no_links(problem)) return;
  if (problem) throw_error("the checkpoint before cannot be kept", problem, files.previous);
  if (fs::exists(files.previous, problem) && !fs::equivalent(files.previous, files.checkpoint, problem) && !problem) {
    fs::rename(files.previous, files.checkpoint + ".tmp", problem);
  }
  if (!problem) fs::rename(beside, files.previous, problem);
  if (!problem) fs::remove(beside, problem);  // a rename onto another name of the same file does nothing
  if (problem) throw_error("the checkpoint before cannot be kept", problem, files.previous);
}

std::string run_file_of_state(const std::string& path) {
  const StateFiles suffixes = state_files_of("");
  for (const std::string& suffix : {suffixes.checkpoint, suffixes.previous, suffixes.steps[0], suffixes.steps[1]}) {
    if (path.size() > suffix.size() && path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return {};
}

void remove_step_states(const StateFiles& files) {
  for (const std::string& path : files.steps) remove_file(path);
}

void remove_states_but_checkpoint(const StateFiles& files) {
  remove_step_states(files);
  remove_file(files.previous);
  for (const std::string& path : {files.checkpoint, files.previous, files.steps[0], files.steps[1]}) remove_file(path + ".tmp");
}

std::optional<FoundState> find_other_state(const std::string& damaged) {
  std::optional<FoundState> best;
  const StateFiles files = state_files_of(run_file_of_state(damaged));
  for (const std::string& path : {files.checkpoint, files.previous, files.steps[0], files.steps[1]}) {
    if (path == damaged) continue;
    const auto steps = check_training_state(path);
    if (steps && (!best || *steps > best->steps_done)) best = FoundState{path, *steps};
  }
  return best;
}

FoundStates find_states(const StateFiles& files) {
  FoundStates found;
  const auto look = [&](const std::string& path, bool whole) {
    std::error_code ignored;  // what cannot be looked at is not there
    if (path.empty() || !fs::exists(path, ignored)) return;
    const auto steps = whole ? check_training_state(path) : steps_in_training_state(path);
    if (!steps) {
      found.damaged.push_back(steps.error().text());
    } else if (!found.best || *steps > found.best->steps_done) {
      found.best = FoundState{path, *steps};
    }
  };
  look(files.checkpoint, false);
  for (const std::string& path : files.steps) look(path, true);
  if (!found.best) look(files.previous, false);
  return found;
}

}  // namespace plimsoll
