#include "cli/resume_source.h"

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <sstream>

#include "cli/output_file.h"
#include "executor/checkpoint/training_state.h"
#include "formats/runs/run_file.h"
#include "formats/models/safetensors.h"
#include "session/run_session.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> unusable(const std::string& path, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

/// Whether a run that was killed wrote that checkpoint just before, so that its file never came to say so. An older one
/// is another run's.
bool is_uncommitted(const RunFile& run, const std::string& checkpoint) {
  struct stat found {};
  std::tm created{};
  if (run.finished || ::stat(checkpoint.c_str(), &found) != 0) return false;
  if (::strptime(run.meta.created.c_str(), "%Y-%m-%dT%H:%M:%SZ", &created) == nullptr) return false;
  return found.st_mtime >= ::timegm(&created);
}

/// The recorded place is as the run's user wrote it; a run file that moved has its checkpoint beside it.
Result<std::string> checkpoint_in(const RunFile& run, const std::string& path) {
  const std::string beside = checkpoint_of(path);
  if (run.checkpoints.empty() && is_uncommitted(run, beside)) return beside;
  if (run.checkpoints.empty()) {
    return unusable(path, "the run wrote no checkpoint", "one is written at the end, on Ctrl-C and with --save-every");
  }
  if (std::filesystem::exists(beside)) return beside;
  const std::string& recorded = run.checkpoints.back().path;
  if (std::filesystem::exists(recorded)) return recorded;
  return unusable(path, "its checkpoint " + recorded + " is gone", "put it beside the run file as " + beside);
}

Result<ResumeSource> of_run(const std::string& path, std::string checkpoint) {
  const auto run = read_run_file(path);
  if (!run) return fail(run.error());
  const Plan* plan = run->last_plan();
  if (plan == nullptr)
    return unusable(path, "the run file has no run in it", "resume from a file that plimsoll run made");
  if (checkpoint.empty()) {
    const auto found = checkpoint_in(*run, path);
    if (!found) return fail(found.error());
    checkpoint = *found;
  }
  return ResumeSource{
      .checkpoint = std::move(checkpoint), .run_file = path, .spec = plan->spec, .recipe = plan->recipe};
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
  const std::string suffix = checkpoint_of("");
  if (path.size() > suffix.size() && path.ends_with(suffix) && std::filesystem::exists(path)) {
    const std::string run_file = path.substr(0, path.size() - suffix.size());
    if (is_of_kind(run_file, FileKind::kRunFile)) return of_run(run_file, path);
  }
  return of_checkpoint_alone(path);
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

}  // namespace plimsoll
