#include "cli/inputs/resume_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <sstream>

#include "cli/print/output_file.h"
#include "executor/checkpoint/state_files.h"
#include "executor/checkpoint/training_state.h"
#include "formats/models/safetensors.h"
#include "formats/runs/run_file.h"
#include "session/run_session.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> unusable(const std::string& path, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

/// The states beside a run file that are this run's. One that was killed may have written them just before, so that its
/// file never came to say so; older ones are another run's. A run that an error ended closed its file and left the
/// states of its steps, which one that ended well removes.
StateFiles states_of(const RunFile& run, const std::string& path) {
  std::tm created{};
  const bool dated = ::strptime(run.meta.created.c_str(), "%Y-%m-%dT%H:%M:%SZ", &created) != nullptr;
  const auto keep_own = [&](std::string& file, bool closed) {
    struct stat found {};
    const bool own = ::stat(file.c_str(), &found) == 0 && !closed && dated && found.st_mtime >= ::timegm(&created);
    if (!own) file.clear();
  };
  StateFiles files = state_files_of(path);
  if (!run.checkpoints.empty()) return files;
  keep_own(files.checkpoint, run.finished);
  keep_own(files.previous, run.finished);
  for (std::string& file : files.steps) keep_own(file, false);
  return files;
}

/// Whether two files lie in one folder, whatever links lead there.
bool in_one_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  const auto folder_of = [&](const std::filesystem::path& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file).parent_path(), ignored);
  };
  return folder_of(a) == folder_of(b);
}

/// A checkpoint lies beside its run file. The recorded place is as the run's user wrote it; a run file from somebody else could
/// name any file there, so that only one in its own folder is opened.
Result<FoundState> checkpoint_in(const RunFile& run, const std::string& path, std::vector<std::string>& notes) {
  const FoundStates found = find_states(states_of(run, path));
  if (found.best) {
    for (const std::string& text : found.damaged) {
      notes.push_back(fmt::format("{}: going on from step {} in {}", text, found.best->steps_done, found.best->path));
    }
    return *found.best;
  }
  if (!found.damaged.empty()) {
    return unusable(path, "no checkpoint of the run is whole: " + found.damaged.front(), "resume from a copy, if there is one");
  }
  if (run.checkpoints.empty()) {
    return unusable(path, "the run wrote no checkpoint",
                    "one is written at the end, on Ctrl-C, with --save-every and with --durability");
  }
  const std::string& recorded = run.checkpoints.back().path;
  if (!in_one_folder(recorded, path)) {
    return unusable(path, "its checkpoint " + recorded + " lies in another folder",
                    "put it beside the run file as " + checkpoint_of(path) + ", or resume from the checkpoint itself");
  }
  if (std::filesystem::exists(recorded)) return FoundState{recorded, 0};
  return unusable(path, "its checkpoint " + recorded + " is gone", "put it beside the run file as " + checkpoint_of(path));
}

Result<ResumeSource> of_run(const std::string& path, std::string checkpoint) {
  const auto run = read_run_file(path);
  if (!run) return fail(run.error());
  const Plan* plan = run->last_plan();
  if (plan == nullptr)
    return unusable(path, "the run file has no run in it", "resume from a file that plimsoll run made");
  ResumeSource source{.checkpoint = std::move(checkpoint), .run_file = path, .spec = plan->spec, .recipe = plan->recipe, .platform = plan->platform};
  if (!source.checkpoint.empty()) return source;
  auto found = checkpoint_in(*run, path, source.notes);
  if (!found) return fail(found.error());
  source.checkpoint = std::move(found->path);
  return source;
}

Result<ResumeSource> of_checkpoint_alone(const std::string& path) {
  const auto header = read_safetensors_header(path);
  if (!header) return fail(header.error());
  ResumeSource source{.checkpoint = path};
  const auto recipe = header->metadata.find("recipe");
  if (recipe == header->metadata.end()) return source;
  std::istringstream words(recipe->second);
  for (std::string word; words >> word;) {
    if (word.rfind("matmul=", 0) != 0) continue;
    const auto library = parse_matmul(word.substr(word.find('=') + 1));
    if (!library) return fail(library.error());
    source.matmul = *library;
  }
  return source;
}

Result<ResumeSource> find_source(const std::string& path) {
  if (is_of_kind(path, FileKind::kRunFile)) return of_run(path, {});
  const std::string run_file = run_file_of_state(path);
  const bool known = !run_file.empty() && std::filesystem::exists(path) && is_of_kind(run_file, FileKind::kRunFile);
  return known ? of_run(run_file, path) : of_checkpoint_alone(path);
}

}  // namespace

Result<ResumeSource> find_resume_source(const std::string& path) {
  auto source = find_source(path);
  if (!source) return source;
  const auto header = read_safetensors_header(source->checkpoint);
  if (!header) return fail(header.error());
  const auto base = header->metadata.find(std::string(kTrainingBase));
  if (base != header->metadata.end()) source->base = base->second;
  return source;
}

void note_more_memory(const ResumeSource& resumed, const Platform& now, std::vector<std::string>& notes) {
  constexpr std::int64_t kMuch = 2;  // what else a computer does changes what is free
  if (!resumed.platform) return;
  for (const auto& [kind, option] : {std::pair{SpaceKind::kDevice, "--device-memory"}, std::pair{SpaceKind::kHost, "--ram"}}) {
    const auto before = resumed.platform->space(kind), here = now.space(kind);
    if (!before || !here) continue;
    const Bytes had = resumed.platform->at(*before).usable, has = now.at(*here).usable;
    if (has <= kMuch * had) continue;
    notes.push_back(fmt::format("the run was planned for {} of {}, of which {} may be used now; {} says how much", to_text(had),
                                resumed.platform->at(*before).name, to_text(has), option));
  }
}

}  // namespace plimsoll
