#include "session/weights_in_and_out.h"

#include <fmt/format.h>

#include "executor/checkpoint/adapter_folder.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/state_files.h"
#include "executor/checkpoint/training_state.h"

namespace plimsoll {
namespace {

/// Where the file itself is damaged, the last good state is offered.
Error with_other_state(Error error, const std::string& path) {
  if (check_training_state(path)) return error;
  const auto other = find_other_state(path);
  if (other) error.remedy = fmt::format("the state of step {} is whole: --resume {}", other->steps_done, other->path);
  return error;
}

Result<std::int64_t> resume(const RunRequest& request, const WriteState& write) {
  const auto first = load_training_state(request.resume, request.spec, request.recipe, write);
  if (!first) return fail(with_other_state(first.error(), request.resume));
  if (*first < request.schedule.end_step) return first;
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} already holds {} steps", request.resume, *first),
               .where = {},
               .remedy = "ask for more with --steps"});
}

}  // namespace

Result<DataMark> mark_of_data(const RunRequest& request) {
  auto mark = mark_data(request.data);
  if (!mark || request.resume.empty() || request.other_data) return mark;
  const auto same = check_data_of_training_state(request.resume, *mark);
  return same ? mark : fail(same.error());
}

Result<std::int64_t> fill_state(Executor& executor, const RunRequest& request) {
  const auto write = [&](TensorKind kind, GroupId group, const FillState& fill) { executor.set_state(kind, group, fill); };
  executor.initialize();
  if (!request.init.empty()) {
    const auto loaded = load_weights(request.init, request.spec, request.recipe, write, request.head);
    if (!loaded) return fail(loaded.error());
  }
  if (!request.init_adapter.empty()) {
    const auto loaded = load_adapter(request.init_adapter, request.spec, request.recipe, write);
    if (!loaded) return fail(loaded.error());
  }
  if (!request.resume.empty()) return resume(request, write);
  return 0;
}

Result<void> save_trained(const Executor& executor, const RunRequest& request) {
  if (request.save.empty()) return {};
  const auto state = [&](TensorKind kind, GroupId group) { return executor.state(kind, group); };
  const SaveOptions& how = request.save_options;
  if (!request.recipe.adapter.exists()) return save_weights(request.save, request.spec, request.recipe.precision, how, state);
  return save_adapter(request.save, request.spec, request.recipe, how.type, how.origin.string(), state);
}

std::string checkpoint_of(const std::string& run_file) { return state_files_of(run_file).checkpoint; }

}  // namespace plimsoll
