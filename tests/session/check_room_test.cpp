#include <catch2/catch.hpp>

#include <sys/mount.h>

#include <filesystem>

#include "executor/checkpoint/training_state.h"
#include "session/check_room.h"
#include "session/disk_use.h"
#include "session/measure_safety.h"
#include "session/warm_up.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

constexpr Bytes kState{1000};

Bytes most_of(const StateWrites& writes, const std::function<void(DiskUse&)>& found = {}) {
  DiskUse disk;
  if (found) found(disk);
  write_states(writes, disk);
  return disk.most();
}

StateWrites writes_of(Durability durability, std::int64_t later) {
  return {
      .files = state_files_of("run"), .durability = durability, .state = kState, .trial = Bytes(10), .later = later};
}

/// A file system in memory of that size; not mounted where this user may not.
class SmallDisk {
 public:
  explicit SmallDisk(Bytes bytes) {
    const std::string size = "size=" + std::to_string(bytes.count);
    mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("states take the room of as many files as are there at once") {
  // none: the one that is written. checkpoint: the last one, and the new one, written over the one of two before.
  CHECK(most_of(writes_of(Durability::kNone, 1)) == kState);
  CHECK(most_of(writes_of(Durability::kCheckpoint, 1)) == kState);
  for (const std::int64_t many : {2, 3, 4, 1000}) CHECK(most_of(writes_of(Durability::kCheckpoint, many)) == 2 * kState);
  // step: both files of a step and the checkpoint in the end; with --save-every the newer checkpoint beside the older.
  CHECK(most_of(writes_of(Durability::kStep, 1)) == 3 * kState);
  CHECK(most_of(writes_of(Durability::kStep, 5)) == 4 * kState);
  StateWrites early = writes_of(Durability::kCheckpoint, 5);
  early.early = 3;  // a trial of two files beside two checkpoints
  CHECK(most_of(early) == 2 * kState + Bytes(20));
}

TEST_CASE("states that are there already give their room to those that take their place") {
  const StateFiles files = state_files_of("run");
  const auto one = [&](DiskUse& disk) { disk.found(files.checkpoint, kState); };
  CHECK(most_of(writes_of(Durability::kNone, 1), one) == kState);  // the new one is whole before the old one goes
  for (const std::int64_t many : {1, 5}) CHECK(most_of(writes_of(Durability::kCheckpoint, many), one) == kState);
  const auto all = [&](DiskUse& disk) {
    for (const std::string& name : {files.checkpoint, files.previous, files.checkpoint + ".tmp"}) disk.found(name, kState);
  };
  CHECK(most_of(writes_of(Durability::kCheckpoint, 5), all) == Bytes(20));  // the trial's
  const auto links = [&](DiskUse& disk) {
    one(disk);
    disk.link(files.checkpoint, files.previous);  // of a run that was killed in between
  };
  CHECK(most_of(writes_of(Durability::kCheckpoint, 5), links) == kState);
}

TEST_CASE("a training state is as long as was said before") {
  const TemporaryFolder folder;
  for (const Precision precision : {Precision::kFp32, Precision::kFp16Mixed}) {
    RunRequest request = small_request(folder, Family::kGpt2, 2);
    request.recipe.precision = precision;
    request.replace = true;
    run_to_end(request);
    const auto mark = mark_data(request.data);
    REQUIRE(mark);
    const auto said = training_state_bytes(request.spec, request.recipe, {.data = *mark});
    REQUIRE(said);
    CHECK(said->count == static_cast<std::int64_t>(std::filesystem::file_size(checkpoint_of(request.output))));
  }
}

namespace {

void check_refused(const Result<RunOutcome>& refused, const SmallDisk& disk) {
  REQUIRE(!refused);
  CHECK(refused.error().kind == ErrorKind::kEnvironment);
  CHECK(refused.error().where == disk.folder().path());
  CHECK_THAT(refused.error().text(),
             Catch::Contains("is free") && Catch::Contains("are missing") && Catch::Contains("-o"));
  CHECK(files_in(disk.folder()).empty());
}

}  // namespace

TEST_CASE("a run is refused a disk that has a page less than it needs, and ends well on one that has as much") {
  for (const Durability durability : {Durability::kNone, Durability::kCheckpoint, Durability::kStep}) {
    const TemporaryFolder data;
    RunRequest request = small_request(data, Family::kGpt2, 8);
    request.schedule.durability = durability;
    if (durability == Durability::kCheckpoint) request.schedule.save_every = 2;
    request.machine = without_drive(request).machine;
    CAPTURE(static_cast<int>(durability));
    const auto outcome_on = [&](const SmallDisk& disk) {
      request.output = disk.folder().file("run.plimsoll");
      return run_session(request, {}, std::atomic<bool>(false));
    };
    const auto plan = cautious_plan(request);
    REQUIRE(plan);
    RunRequest there = request;
    there.output = data.file("run.plimsoll");
    const auto mark = mark_data(request.data);
    const Bytes about = room_needed(there, {&*plan, 1}, {.data = *mark});
    const SmallDisk large(2 * about), small(Bytes(about.count / 2));
    if (!large.mounted() || !small.mounted()) {
      WARN("skipped: this user may not mount a file system");
      return;
    }
    const auto ran = outcome_on(large);
    if (!ran) FAIL(ran.error().text());
    check_refused(outcome_on(small), small);
    request.output = large.folder().file("run.plimsoll");
    const Bytes exact = room_needed(there, {&ran->plan, 1}, {.data = *mark});
    const Bytes lock(4096);  // the run file's lock is there already
    const SmallDisk enough(exact + lock), less(exact);
    CHECK(outcome_on(enough));
    CHECK_FALSE(outcome_on(less));
    CHECK(files_in(less.folder()).empty());
  }
}

TEST_CASE("what later states take is foretold by the median of the third to the ninth") {
  SafetySpent spent;
  SafetyAnswer answer;
  for (const std::int64_t took : {90, 80, 30, 10, 20, 18, 22, 70, 19}) {
    CHECK_FALSE(spent.foretold());
    spent.add({.bytes = Bytes(7), .took = Nanoseconds(took)});
  }
  REQUIRE(spent.foretold());
  CHECK(*spent.foretold() == Nanoseconds(20));  // the fourth of 10 18 19 20 22 30 70
  spent.put_into(answer);
  CHECK_FALSE(answer.learned);  // nothing came after them
  for (const std::int64_t took : {24, 22, 23}) spent.add({.bytes = Bytes(7), .took = Nanoseconds(took)});
  CHECK_FALSE(spent.foretold());
  spent.put_into(answer);
  REQUIRE(answer.learned);
  CHECK(answer.learned->from == 9);
  CHECK(answer.learned->seconds_each == Approx(20e-9));
  CHECK(answer.learned->later == 3);
  CHECK(answer.learned->later_seconds_each == Approx(23e-9));
  CHECK(answer.measured->times == 12);
  CHECK(answer.measured->seconds_each == Approx(23e-9));  // the seventh of 10 18 19 20 22 22 23 24 30 70 80 90
}

}  // namespace plimsoll::test
