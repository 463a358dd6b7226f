#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "formats/runs/run_file_writer.h"
#include "session/run_session.h"
#include "session/train.h"

namespace plimsoll {

/// The run file of a training, from its making to its end, and what of the training the disk holds by then.
class TrainingRecord {
 public:
  /// Keeps a reference.
  explicit TrainingRecord(const RunRequest& request) : request_(request) {}

  RunFileWriter* operator->() { return file_.get(); }

  /// Makes the file, lets `work` fill it, and says in it how that ended: a Result. A training that fails without a single step
  /// leaves no file; an EnvironmentError that ends one says what of it is whole.
  template <typename Work>
  auto keep(const Work& work) -> decltype(work()) {
    open();
    try {
      auto outcome = work();
      close(outcome ? nullptr : &outcome.error());
      return outcome;
    } catch (const EnvironmentError& failure) {
      note_failure(failure.what());
      throw EnvironmentError(with_checkpoint(failure.error()));
    } catch (const std::exception& failure) {
      note_failure(failure.what());
      throw;
    }
  }

  /// Safe from the executor's thread.
  void add_step(StoredTraceId trace, const StepSummary& step);
  [[nodiscard]] bool has_steps() const { return stepped_; }
  void add_checkpoint(const SavedState& state);
  void log(Nanoseconds at, const char* level, const std::string& text) { file_->add_log({at, level, text}); }

  /// The state after so many steps is on the disk.
  void promise(std::int64_t steps) { durable_ = steps; }
  [[nodiscard]] bool has_promised() const { return durable_.has_value(); }
  /// A training that fails in the middle goes on from its last state, if it wrote one.
  [[nodiscard]] Error with_checkpoint(Error error) const;

 private:
  void open();
  void close(const Error* error);
  /// The disk may be the very thing that failed, so a note that cannot be written is given up.
  void note_failure(const std::string& text);

  const RunRequest& request_;
  std::unique_ptr<RunFileWriter> file_;
  std::optional<std::int64_t> durable_;  ///< steps that what this training wrote holds
  std::atomic<bool> stepped_{false};
};

}  // namespace plimsoll
