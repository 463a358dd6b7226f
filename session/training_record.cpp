#include "session/training_record.h"

#include <fmt/format.h>

#include "session/open_run_file.h"

namespace plimsoll {

void TrainingRecord::open() {
  file_ = open_run_file(request_);  // an older file is replaced only now that the training can start
  remove_older_states(request_);
}

void TrainingRecord::close(const Error* error) {
  if (error != nullptr) log(Nanoseconds(0), "error", error->text());
  file_->close();
  const bool left_nothing = error != nullptr && !stepped_;
  if (error == nullptr || left_nothing) remove_step_states(state_files_of(request_.output));  // the checkpoint holds as much
  if (left_nothing) remove_run_file(request_.output);
}

void TrainingRecord::add_step(StoredTraceId trace, const StepSummary& step) {
  stepped_ = true;
  file_->add_steps(trace, {step});
}

void TrainingRecord::add_checkpoint(const SavedState& state) {
  const auto digest = numerics_digest(request_.spec, request_.recipe);
  file_->add_checkpoint({static_cast<std::uint32_t>(state.steps_done), state.path, digest});
  file_->flush();
}

Error TrainingRecord::with_checkpoint(Error error) const {
  if (!durable_) return error;
  if (!error.remedy.empty()) error.remedy += "; ";
  error.remedy += fmt::format("the checkpoint of step {} is whole: plimsoll run --resume {} goes on from there", *durable_,
                              request_.output);
  return error;
}

void TrainingRecord::note_failure(const std::string& text) {
  try {
    log(Nanoseconds(0), "error", text);
    file_->close();
  } catch (const EnvironmentError&) {
    return;
  }
}

}  // namespace plimsoll
