#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "formats/runs/run_file_room.h"
#include "formats/runs/run_file_writer.h"
#include "tests/support/random_plan.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

/// Bytes of the file and its companions.
std::int64_t taken(const TemporaryFolder& folder) {
  std::int64_t sum = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    sum += static_cast<std::int64_t>(file.file_size());
  return sum;
}

constexpr std::int64_t kHuge = std::int64_t{1} << 60;  // numbers of eight bytes

}  // namespace

TEST_CASE(
    "a run file of many events and steps takes no more room, while it is written, than was said, and at least half of "
    "it") {
  const TemporaryFolder folder;
  RunFileWriter writer(folder.file("run.plimsoll"), {});
  const StoredTraceId trace = writer.add_trace({.name = "run", .trace = {}});
  constexpr std::uint32_t kEvents = 300'000, kSteps = 20'000;
  std::vector<TraceEvent> events;
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    events.push_back({i / 1000, i % 1000, Nanoseconds(kHuge + i), Nanoseconds(kHuge + i + 1), EventStatus::kMeasured});
  }
  writer.add_events(trace, events);
  writer.flush();
  std::int64_t most = taken(folder);
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    writer.add_steps(trace, {{i, Nanoseconds(kHuge + i), Nanoseconds(kHuge + i + 1), 0.1 * i, 0.2 * i, 0.3 * i}});
    if (i % 500 == 0) writer.flush();
    if (i % 500 == 0) most = std::max(most, taken(folder));
  }
  writer.flush();
  most = std::max(most, taken(folder));
  const Bytes room = room_for_run_file({.events = kEvents, .steps = kSteps});
  CHECK(most <= room.count);
  CHECK(most > room.count / 2);
}

TEST_CASE("plans in a run file take no more room than was said") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const TemporaryFolder folder;
    const Plan plan = random_plan({.seed = seed, .instructions = 2000});
    RunFileWriter writer(folder.file("run.plimsoll"), {});
    writer.add_plan("run", plan);
    writer.flush();
    CHECK(taken(folder) <= room_for_run_file(contents_of(plan, 0)).count);
  }
}

}  // namespace plimsoll::test
