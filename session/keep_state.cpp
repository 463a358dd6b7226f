#include "session/keep_state.h"

#include <chrono>

#include "executor/checkpoint/training_state.h"

namespace plimsoll {
namespace {

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

Result<void> StateKeeper::write(const std::string& path, std::int64_t done, WritePlace place, bool of_step, Time begin) {
  const auto bytes = save_training_state(path, plan_.spec, plan_.recipe, done,
                                         [&](TensorKind kind, GroupId group) { return executor_.state(kind, group); },
                                         {.base = schedule_.base, .place = place, .data = schedule_.data});
  if (!bytes) return fail(bytes.error());
  const Nanoseconds took(std::chrono::nanoseconds(now() - begin).count());
  if (watcher_.on_saved) watcher_.on_saved({.steps_done = done, .path = path, .bytes = *bytes, .took = took, .of_step = of_step});
  return {};
}

Result<void> StateKeeper::save_checkpoint(std::int64_t done) {
  if (schedule_.states.checkpoint.empty()) return {};
  const Time begin = now();
  const bool keep = schedule_.durability == Durability::kCheckpoint;
  if (keep) keep_previous(schedule_.states);
  return write(schedule_.states.checkpoint, done, keep ? WritePlace::kOverSpare : WritePlace::kBeside, false, begin);
}

Result<void> StateKeeper::begin_steps(std::int64_t done) {
  for (const std::string& path : schedule_.states.steps) {
    if (auto written = write(path, done, WritePlace::kBeside, true, now()); !written) return written;
  }
  return {};
}

Result<void> StateKeeper::commit_step(std::int64_t done) {
  return write(step_file(done), done, WritePlace::kInPlace, true, now());
}

Result<void> StateKeeper::go_back_to(std::int64_t done) {
  const auto write = [&](TensorKind kind, GroupId group, const FillState& fill) { executor_.set_state(kind, group, fill); };
  const auto steps = load_training_state(step_file(done), plan_.spec, plan_.recipe, write);
  return steps ? Result<void>{} : fail(steps.error());
}

}  // namespace plimsoll
