#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "formats/runs/chrome_trace.h"
#include "formats/runs/perfetto_trace.h"
#include "formats/runs/proto_message.h"
#include "formats/runs/trace_csv.h"
#include "formats/runs/trace_recording.h"
#include "formats/text/csv.h"
#include "formats/traces/read_recording.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/predict.h"
#include "sim/replay/replay.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

struct Predicted {
  Plan plan;
  NamedTrace named;
};

Predicted predicted(const Strategy& strategy) {
  Predicted made{.plan =
                     lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(), strategy, {}).value()};
  made.named = {.name = "predicted", .trace = predict(made.plan, CatalogueCostModel()).value().trace};
  return made;
}

const Strategy kOffload{.name = "offload", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost};

std::size_t drawn(const Predicted& made) {
  const FlatBody body = expand(made.plan, *made.plan.body("step"));
  std::size_t count = 0;
  for (const TraceEvent& event : made.named.trace.events)
    count += takes_time(body.list.instructions[event.instruction]) ? 1 : 0;
  return count;
}

Result<Recording> through_file(const Predicted& made) {
  const TemporaryFolder folder;
  std::ofstream out(folder.file("trace.json"));
  write_chrome_trace(out, made.plan, {&made.named});
  out.close();
  return read_recording(folder.file("trace.json"));
}

}  // namespace

TEST_CASE(
    "a Chrome trace of ours is read as device work on as many streams as it has lanes, and nothing of it is lost") {
  const Predicted made = predicted(kOffload);
  const auto read = through_file(made);
  REQUIRE(read);
  const Recording& recording = *read;
  const auto begins = std::count_if(recording.work.begin(), recording.work.end(),
                                    [](const DeviceWork& work) { return work.kind == DeviceWorkKind::kFill; });
  CHECK(begins == 8);  // one a lane: the tiny machine's queues, none of which ran two things at once
  CHECK(recording.work.size() - static_cast<std::size_t>(begins) == drawn(made));
  CHECK(recording.losses.empty());
  CHECK(recording.calls.size() >= recording.work.size());
  CHECK(marked_steps(recording).size() == made.named.trace.steps.size());
}

TEST_CASE("a replay of our own trace comes out as the trace, with the plan's waits") {
  const Predicted made = predicted(kOffload);
  const auto recording = through_file(made);
  REQUIRE(recording);
  const auto replayed = replay(*recording, {});
  REQUIRE(replayed);
  CHECK(replayed->graph.pinned == 0);
  CHECK(replayed->graph.recorded_edges > 0);
  CHECK(std::abs(replayed->error()) < 0.01);
}

TEST_CASE("a replay of our own trace carries a faster kernel on to what waits for it") {
  const Predicted made = predicted(kOffload);
  const auto read = through_file(made);
  REQUIRE(read);
  const Recording& recording = *read;
  ReplayOptions half;
  half.scales.push_back(parse_scale_rule("kernel=*:0.5").value());
  const auto plain = replay(recording, {}), faster = replay(recording, half);
  REQUIRE((plain && faster));
  // Transfers stay as they are, so that it is less than twice as fast.
  CHECK(faster->predicted < plain->predicted);
  CHECK(2 * faster->predicted.count >= plain->predicted.count);
}

TEST_CASE("waits are of other lanes, end before what waits, and pass through markers") {
  const Predicted made = predicted(kOffload);
  const TraceLayout layout = lay_out_trace(made.plan, made.named);
  REQUIRE_FALSE(layout.waits.empty());
  const auto& events = made.named.trace.events;
  for (const TraceWait& wait : layout.waits) {
    CHECK(events[wait.from].end <= events[wait.to].start + Nanoseconds(1000));
    CHECK(layout.lane_of(made.named.trace, wait.from) != layout.lane_of(made.named.trace, wait.to));
    CHECK(takes_time(layout.body.list.instructions[events[wait.from].instruction]));
  }
}

TEST_CASE("a table of a trace has a row for each event") {
  const Predicted made = predicted({.name = "resident"});
  std::ostringstream out;
  write_trace_csv(out, made.plan, {&made.named});
  const auto table = read_csv(out.str(), "trace.csv");
  REQUIRE(table);
  REQUIRE(table->rows.size() == made.named.trace.events.size());
  CsvFields first(*table, table->rows.front());
  CHECK(first.text("trace") == "predicted");
  CHECK(first.number("start_ns") == static_cast<double>(made.named.trace.events.front().start.count));
}

TEST_CASE("protobuf fields are written as its encoding says") {
  // 150 = 0x96: the low seven bits with the high bit set, then the rest; field 1 as varint has the tag 08
  // (protobuf.dev, Encoding).
  CHECK(ProtoMessage().varint(1, 150).bytes() == std::string("\x08\x96\x01", 3));
  CHECK(ProtoMessage().text(2, "testing").bytes() == std::string("\x12\x07testing", 9));
  // Field 47 as 64 bits: 47·8 + 1 = 377 = 0x179, in two bytes f9 02; then eight bytes, the lowest first.
  CHECK(ProtoMessage().fixed64(47, 1).bytes() == std::string("\xf9\x02\x01\0\0\0\0\0\0\0", 10));
}

TEST_CASE("a Perfetto trace is the same bytes each time, packet after packet") {
  const Predicted made = predicted(kOffload);
  std::ostringstream first, second;
  const std::vector<MemorySample> memory{{Nanoseconds(5), "gpu0", "parameters", Bytes(10)}};
  write_perfetto_trace(first, made.plan, {&made.named}, memory);
  write_perfetto_trace(second, made.plan, {&made.named}, memory);
  CHECK(first.str() == second.str());
  // A packet (field 1) of four bytes: sequence (field 10) 1, flags (field 13) 1.
  CHECK(first.str().substr(0, 6) == "\x0a\x04\x50\x01\x68\x01");
}

}  // namespace plimsoll::test
