#include "cli/inputs/trained_model.h"

#include <fmt/format.h>

#include "cli/inputs/resume_source.h"
#include "cli/print/output_file.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/training_state.h"
#include "formats/models/resolve_model.h"
#include "session/run_session.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> unusable(const std::string& name, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = name, .remedy = std::move(remedy)});
}

Result<TrainedModel> of_run(const std::string& name) {
  const auto source = find_resume_source(name);
  if (!source) return fail(source.error());
  if (!source->spec) return unusable(name, "a checkpoint alone does not say which model it is", "put its run file beside it");
  return TrainedModel{.spec = *source->spec,
                      .weights = source->checkpoint,
                      .folder = std::filesystem::path(name).parent_path(),
                      .load = [spec = *source->spec, path = source->checkpoint](const WriteState& state) {
                        return load_trained_weights(path, spec, state);
                      }};
}

Result<TrainedModel> of_weights(const std::string& name) {
  const auto model = describe_model(name);
  if (!model) return fail(model.error());
  for (const ModelNote& note : model->notes) {
    if (note.changes_numbers) return unusable(name, note.text, "such a model is sized, but not run");
  }
  if (model->weights.empty()) {
    return unusable(name, "there are no weights", "name a folder with safetensors, a safetensors file or a run file");
  }
  return TrainedModel{.spec = model->spec,
                      .weights = model->weights.string(),
                      .folder = model->weights.parent_path(),
                      .load = [spec = model->spec, path = model->weights](const WriteState& state) {
                        return load_weights(path, spec, Precision::kFp32, state);
                      }};
}

}  // namespace

Result<TrainedModel> find_trained_model(const std::string& name) {
  const bool trained_here = is_of_kind(name, FileKind::kRunFile) || name.ends_with(checkpoint_of(""));
  return trained_here ? of_run(name) : of_weights(name);
}

}  // namespace plimsoll
