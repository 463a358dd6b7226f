#include "session/check_room.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/graph/saved_state.h"
#include "executor/checkpoint/save_rates.h"
#include "executor/checkpoint/training_state.h"
#include "executor/tiers/file_system.h"
#include "formats/models/safetensors.h"
#include "formats/runs/run_file_room.h"
#include "session/disk_use.h"
#include "session/warm_up.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPredictedSteps = 4;  ///< of a prediction's trace
const std::string kDriveData = "SSD data", kWeights = "weights";

/// The nearest folder above that is there; a path that ends in a slash names a folder itself.
std::string folder_of(const std::string& file) {
  fs::path folder = fs::path(file).parent_path();
  for (std::error_code ignored; !folder.empty() && !fs::exists(folder, ignored);) folder = folder.parent_path();
  return folder.empty() ? "." : folder.string();
}

tl::unexpected<Error> missing(const std::string& folder, std::string what, Bytes needed, Bytes free,
                              std::string remedy) {
  return fail({.kind = ErrorKind::kEnvironment,
               .what = fmt::format("{}, and {} is free: {} are missing", what, to_text(free), to_text(needed - free)),
               .where = folder,
               .remedy = std::move(remedy)});
}

/// Whether both lie on one file system; what is not there yet lies where its folder does.
bool share_disk(const std::string& a, std::string b) {
  struct stat of_a {
  }, of_b{};
  if (::stat(b.c_str(), &of_b) != 0) b = folder_of(b);
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev;
}

std::vector<std::string> run_files(const std::string& path) {
  return {path, path + "-wal", path + "-shm", path + "-journal"};
}

std::vector<std::string> state_names(const StateFiles& files) {
  std::vector<std::string> names{files.checkpoint, files.previous, files.steps[0], files.steps[1]};
  for (std::size_t i = 0; i < 4; ++i) names.push_back(names[i] + ".tmp");
  return names;
}

/// What is there; a file that has other names too would give no room back.
void find_files(const std::vector<std::string>& names, DiskUse& disk) {
  for (const std::string& name : names) {
    struct stat found {};
    if (::stat(name.c_str(), &found) == 0) disk.found(name, found.st_nlink == 1 ? Bytes(found.st_size) : Bytes(0));
  }
}

/// As TrainingRecord::open does it (session/open_run_file.h).
void remove_older(const RunRequest& request, const StateFiles& files, DiskUse& disk) {
  if (request.replace) {
    for (const std::string& name : run_files(request.output)) disk.remove(name);
  }
  std::error_code ignored;  // what is not there is not the other
  for (const std::string& name : {files.checkpoint, files.previous, files.steps[0], files.steps[1]}) {
    if (!request.resume.empty() && fs::equivalent(name, request.resume, ignored)) return;
  }
  for (const std::string& name : state_names(files)) {
    if (name != files.checkpoint) disk.remove(name);
  }
}

/// Pauses at multiples of `every` in [first, until), which is not the training's end.
std::int64_t pauses(std::int64_t every, std::int64_t first, std::int64_t until) {
  return every > 0 ? std::max<std::int64_t>(0, (until - 1) / every - first / every) : 0;
}

StateWrites states_to_write(const RunRequest& request, const RoomQuestion& question) {
  const TrainSchedule& schedule = request.schedule;
  const std::int64_t warm =
      question.begun ? question.first_step : question.first_step + warm_up_share(request, question.first_step);
  StateWrites writes{.files = state_files_of(request.output), .durability = schedule.durability};
  const std::string base = request.recipe.adapter.exists() ? request.init : std::string();
  const auto bytes = training_state_bytes(request.spec, request.recipe, {.base = base, .data = question.data});
  const Bytes numbers = saved_state_bytes(request.spec, request.recipe);
  writes.state = align_up(bytes ? *bytes : numbers, kStorageAlignment);
  if (request.trial) return writes;
  writes.begins = !question.begun;
  writes.trial = align_up(trial_bytes(numbers), kStorageAlignment) + kStorageAlignment;  // a page of header
  writes.early = pauses(schedule.save_every, question.first_step, warm + 1);
  writes.later =
      pauses(schedule.save_every, std::max(warm, question.first_step), schedule.end_step) + 1;  // one at the end
  return writes;
}

Bytes run_file_room(const RunRequest& request, std::span<const Plan> plans, const RoomQuestion& question) {
  const std::int64_t steps = std::max<std::int64_t>(0, request.schedule.end_step - question.first_step);
  const std::int64_t warm = question.begun ? 0 : warm_up_share(request, question.first_step);
  RunFileContents contents;
  for (const Plan& plan : plans) {
    contents += contents_of(plan, std::min(steps, request.schedule.traced_steps) + kPredictedSteps);
    if (warm > 0)
      contents += contents_of(plan, warm);  // the plan that will be chosen is taken to be like the cautious one
  }
  contents.steps = steps;
  return room_for_run_file(contents);
}

Bytes all_drive_data(std::span<const Plan> plans) {
  Bytes bytes;
  for (const Plan& plan : plans) bytes += drive_data(plan);
  return bytes;
}

/// Numbers of all that is saved; names and shapes take next to nothing.
Bytes weight_bytes(const RunRequest& request) {
  Bytes bytes;
  const std::int64_t each = bits_of(request.save_options.type) / 8;
  for (const ParameterGroup& group : lay_out_parameters(request.spec, request.recipe.adapter).groups) {
    if (!request.recipe.adapter.exists() || !group.frozen) bytes += Bytes(group.elements * each);
  }
  return bytes;
}

}  // namespace

Bytes drive_data(const Plan& plan) {
  const auto drive = plan.platform.space(SpaceKind::kSsd);
  return drive ? plan.arena_bytes(*drive) : Bytes(0);
}

std::int64_t first_step_of(const RunRequest& request) {
  if (request.resume.empty()) return 0;
  const auto steps = steps_in_training_state(request.resume);
  return steps ? *steps : 0;  // whoever loads it says what is wrong
}

Bytes room_needed(const RunRequest& request, std::span<const Plan> plans, const RoomQuestion& question) {
  const std::string folder = folder_of(request.output);
  const StateWrites writes = states_to_write(request, question);
  DiskUse disk;
  find_files(run_files(request.output), disk);
  find_files(state_names(writes.files), disk);
  if (share_disk(folder, request.drive.folder)) {
    disk.found(kDriveData, question.held);
    disk.write(kDriveData, all_drive_data(plans));
  }
  if (!question.begun) remove_older(request, writes.files, disk);
  disk.write(request.output, run_file_room(request, plans, question));
  write_states(writes, disk);
  if (!request.save.empty() && share_disk(folder, request.save)) disk.write(kWeights, weight_bytes(request));
  return disk.most();
}

Result<void> check_room(const RunRequest& request, std::span<const Plan> plans, const RoomQuestion& question) {
  const std::string folder = folder_of(request.output);
  const Bytes needed = room_needed(request, plans, question), free = file_system_of(folder).free;
  if (needed > free) {
    const bool with_data = all_drive_data(plans).count > 0 && share_disk(folder, request.drive.folder);
    return missing(folder,
                   fmt::format("the run needs {} of room here ({} bytes), with states of {} each", to_text(needed),
                               needed.count, to_text(states_to_write(request, question).state)),
                   needed, free,
                   with_data ? "free room there, or name another folder with -o or --ssd-folder"
                             : "free room there, or name another folder with -o");
  }
  if (request.save.empty() || share_disk(folder, request.save)) return {};
  const std::string elsewhere = folder_of(request.save);
  const Bytes left = file_system_of(elsewhere).free, weights = weight_bytes(request);
  if (weights <= left) return {};
  return missing(elsewhere,
                 fmt::format("the saved weights need {} of room here ({} bytes)", to_text(weights), weights.count),
                 weights, left, "free room there, or name another place with --save");
}

}  // namespace plimsoll
