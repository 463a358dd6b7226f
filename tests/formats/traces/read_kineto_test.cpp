#include "formats/traces/read_kineto.h"

#include <zlib.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "formats/traces/read_recording.h"
#include "formats/traces/trace_numbers.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

Result<Recording> read_text(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.json"), std::ios::binary) << text;
  return read_kineto(folder.file("a.json"));
}

Recording read_good(const std::string& text) {
  auto recording = read_text(text);
  INFO((recording ? std::string() : recording.error().text()));
  REQUIRE(recording);
  return std::move(*recording);
}

std::string refusal(const std::string& text) {
  const auto recording = read_text(text);
  REQUIRE_FALSE(recording);
  CHECK(recording.error().kind == ErrorKind::kInput);
  return recording.error().text();
}

/// A launch and its kernel, 2.5 µs long, as Kineto writes them since 2023.
const std::string kLaunch =
    R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":1000.5,"dur":4,"args":{"External id":1,"correlation":9}})";
const std::string kKernel =
    R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1006.25,"dur":2.5,"args":{"device":0,"context":1,"stream":7,)"
    R"("correlation":9,"grid":[1,2,3],"block":[4,5,6],"registers per thread":40,"shared memory":128}})";

std::string trace_of(const std::string& events) { return R"({"schemaVersion":1,"traceEvents":[)" + events + "]}"; }

const std::string kOne = trace_of(kLaunch + "," + kKernel);

}  // namespace

TEST_CASE("a kernel keeps its time to the nanosecond, its stream, its shape and its launch") {
  const Recording r = read_good(kOne);
  REQUIRE(r.work.size() == 1);
  CHECK(r.work[0].start.count == 5750);  // 1006.25 − 1000.5 µs
  CHECK(r.work[0].end.count == 8250);
  CHECK(r.epoch == 1'000'500);
  CHECK(r.work[0].on == DeviceStream{10, 0, 1, 7});
  CHECK(r.work[0].correlation == 9);
  CHECK(r.shapes[r.work[0].shape].grid == std::array<std::int32_t, 3>{1, 2, 3});
  CHECK(r.shapes[r.work[0].shape].dynamic_shared == 128);
  REQUIRE(r.calls.size() == 1);
  CHECK(r.calls[0].start.count == 0);
  CHECK(r.losses.empty());
}

TEST_CASE("old and new spellings of categories are the same") {
  for (const auto& [kernel, call] :
       {std::pair{"kernel", "cuda_runtime"}, std::pair{"Kernel", "Runtime"}, std::pair{"kernel", "cuda_driver"}}) {
    const std::string events = std::string(R"({"ph":"X","cat":")") + call +
                               R"(","name":"l","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"X","cat":")" + kernel +
                               R"(","name":"k","pid":0,"tid":7,"ts":3,"dur":1,"args":{"device":0,"stream":7}})";
    const Recording r = read_good(trace_of(events));
    CHECK(r.work.size() == 1);
    CHECK(r.calls.size() == 1);
  }
}

TEST_CASE("copies tell their direction and the memories that they join") {
  const Recording r = read_good(
      trace_of(R"x({"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pinned)","pid":0,"tid":7,"ts":1,"dur":1,)x"
               R"("args":{"stream":7,"bytes":4096}})"));
  REQUIRE(r.work.size() == 1);
  CHECK(r.work[0].copy_kind == 2);
  CHECK(r.work[0].source_kind == 2);
  CHECK(r.work[0].target_kind == 1);
  CHECK(r.work[0].bytes == 4096);
}

TEST_CASE("memory events of the device become the framework's curve") {
  const std::string event =
      R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Device Type":)";
  const std::string rest =
      R"(,"Device Id":0,"Addr":139926520725504,"Bytes":-512,"Total Allocated":1024,"Total Reserved":2097152}})";
  const Recording r = read_good(trace_of(event + "1" + rest + "," + event + "0" + rest));
  REQUIRE(r.allocations.size() == 2);
  CHECK(r.allocations[0].memory_kind == kDeviceMemoryKind);
  CHECK(r.allocations[1].memory_kind == kPageableMemoryKind);  // type 0 is the host
  CHECK(r.allocations[0].bytes == -512);
  CHECK(r.allocations[0].address == 139926520725504u);
  CHECK(r.allocations[0].reserved == 2097152);
}

TEST_CASE("a stream's wait keeps the stream and the record that it waits for") {
  const Recording r = read_good(trace_of(
      R"({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":24,"ts":5,"dur":1,"args":{"cuda_sync_kind":"Stream Wait Event",)"
      R"("wait_on_stream":20,"wait_on_cuda_event_record_corr_id":41,"wait_on_cuda_event_id":3,"stream":24,"correlation":53,"device":0}},)"
      R"({"ph":"X","cat":"cuda_sync","name":"Event Sync","pid":0,"tid":-1,"ts":6,"dur":1,"args":{"cuda_sync_kind":"Event Sync","wait_on_stream":4294967295,)"
      R"("wait_on_cuda_event_record_corr_id":-1,"stream":-1,"correlation":54}})"));
  REQUIRE(r.waits.size() == 2);
  CHECK(r.waits[0].kind == WaitKind::kStreamWaitsEvent);
  CHECK(r.waits[0].event_stream == 20);
  CHECK(r.waits[0].event_correlation == 41);
  CHECK(r.waits[1].event_correlation == 0);
  CHECK(r.waits[1].event_stream == -1);
}

TEST_CASE("begins and ends of ranges join on their thread, and what stays open is counted") {
  const Recording r =
      read_good(R"([{"ph":"B","name":"outer","pid":1,"tid":1,"ts":1},{"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"E","pid":1,"tid":1,"ts":6},{"ph":"B","name":"x","pid":1,"tid":2,"ts":1}])");
  REQUIRE(r.ranges.size() == 2);
  CHECK(r.names.at(r.ranges[0].name) == "outer");
  CHECK((r.ranges[0].end - r.ranges[0].start).count == 4000);
  CHECK(r.losses.size() == 2);
}

TEST_CASE("what writers get wrong is forgiven") {
  CHECK(read_good("[" + kLaunch + "," + kKernel + ",]").work.size() == 1);
  const Recording open = read_good("[" + kLaunch + "," + kKernel);
  CHECK(open.work.size() == 1);
  REQUIRE(open.losses.size() == 1);
  CHECK(open.losses[0].what == "ends of the list of events");
  const std::string odd =
      R"({"ph":"X","cat":"kernel","name":"k \u00e9 \ud83d\ude00 \"q\"","pid":0,"tid":7,"ts":"12.5","dur":1e0,"args":{"stream":7,"est":NaN,"a":Infinity,"b":-Infinity,}})";
  const Recording r = read_good(trace_of(odd + "," + kLaunch + ","));
  REQUIRE(r.work.size() == 1);
  CHECK(r.names.at(r.work[0].name) == "k \xc3\xa9 \xf0\x9f\x98\x80 \"q\"");
  CHECK((r.calls[0].start - r.work[0].start).count == 988'000);
}

TEST_CASE("what is no trace is refused with the byte where it goes wrong") {
  CHECK(refusal("").find("empty") != std::string::npos);
  CHECK(refusal("{}").find("traceEvents") != std::string::npos);
  CHECK(refusal("[1]").find("byte 1") != std::string::npos);
  CHECK(refusal(R"({"traceEvents":{}})").find("no array") != std::string::npos);
  CHECK(refusal(R"([{"ph":"X","name":"n","cat":"kernel"}])").find("no time") != std::string::npos);
  CHECK(refusal(R"([{"ph":"X","ts":"soon"}])").find("soon") != std::string::npos);
  CHECK(refusal("[]]").find("byte 2") != std::string::npos);
  CHECK(refusal("[{]}").find("byte 2") != std::string::npos);
  CHECK(refusal(R"([{"a" 1}])").find("colon") != std::string::npos);
  CHECK(refusal(std::string(R"([{"args":)") + std::string(100'000, '[')).find("deep") != std::string::npos);
}

TEST_CASE("times and numbers of a Chrome trace at the ends of 64 bits are refused or cut") {
  CHECK(microseconds("1428625731896.179") == 1428625731896179);
  CHECK(microseconds("-1.5") == -1500);
  CHECK(microseconds("-0.5") == -500);
  CHECK(microseconds("1.0005") == 1001);
  CHECK(microseconds("1e3") == 1'000'000);
  CHECK_FALSE(microseconds("9223372036854775807"));
  CHECK_FALSE(microseconds("1e300"));
  CHECK_FALSE(microseconds("12x"));
  CHECK(bits_of("18446744073709551615") == UINT64_MAX);
  CHECK(whole_number("-9223372036854775808") == INT64_MIN);
  CHECK_FALSE(whole_number("18446744073709551615e30"));
  refusal(R"([{"ph":"X","cat":"kernel","ts":9223372036854775807,"dur":9223372036854775807}])");
  const Recording r = read_good(
      R"([{"ph":"X","cat":"kernel","name":"k","pid":-9223372036854775808,"tid":9223372036854775807,"ts":5,"dur":-1,"args":{"device":99999999999,)"
      R"("stream":9223372036854775807,"correlation":18446744073709551615,"grid":[99999999999,-1,"x",4]}}])");
  CHECK(r.work[0].end == r.work[0].start);
  CHECK(r.shapes[0].grid[1] == 0);
}

TEST_CASE("equal correlation ids are kept as they are") {
  const Recording r = read_good(trace_of(kLaunch + "," + kLaunch + "," + kKernel + "," + kKernel));
  CHECK(r.work.size() == 2);
  CHECK(r.calls.size() == 2);
}

TEST_CASE("a trace cut anywhere is refused, or says that its end is missing") {
  for (std::size_t length = 0; length < kOne.size(); ++length) {
    const auto recording = read_text(kOne.substr(0, length));
    INFO("cut at " << length);
    CHECK_FALSE(recording);
  }
}

TEST_CASE("changed bytes give an error or a recording, and no crash") {
  std::mt19937 random(7);
  const std::string alphabet = "{}[]\",:0-9eE.\\uNnIt \n\x01\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text = kOne;
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = alphabet[random() % alphabet.size()];
    const auto recording = read_text(text);
    if (!recording) CHECK_FALSE(recording.error().what.empty());
  }
}

TEST_CASE("a packed trace is the same trace, and a cut one says so") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.json.gz");
  gzFile packed = gzopen(path.c_str(), "wb");
  std::string many;
  for (int i = 0; i < 2000; ++i) many += kLaunch + "," + kKernel + ",";
  gzputs(packed, trace_of(many).c_str());
  gzclose(packed);
  const auto whole = read_recording(path);
  REQUIRE(whole);
  CHECK(whole->work.size() == 2000);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto cut = read_recording(path);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().what.find("cut off") != std::string::npos);
  CHECK(cut.error().where.find("byte") != std::string::npos);
}

TEST_CASE("texts and windows of any length fit together") {
  // The window is a megabyte: names and events lie across its end wherever they may.
  std::string events;
  for (int i = 0; i < 30; ++i) {
    events += R"({"ph":"X","cat":"cpu_op","name":")" + std::string(static_cast<std::size_t>(i) * 9973, 'n') +
              R"(\n","pid":1,"tid":1,"ts":)" + std::to_string(i) + R"(,"dur":1,"args":{"stack":")" + std::string(100'003, 's') +
              R"("}},)";
  }
  const Recording r = read_good(trace_of(events));
  REQUIRE(r.ranges.size() == 30);
  for (std::size_t i = 0; i < 30; ++i) CHECK(r.names.at(r.ranges[i].name).size() == i * 9973 + 1);
  CHECK(refusal("[{\"name\":\"" + std::string(20 << 20, 'x') + "\"}]").find("longer") != std::string::npos);
}

TEST_CASE("traces by others are read whole") {
  struct Expected {
    const char* file;
    std::size_t work, calls, streams, steps;
  };
  for (const Expected& wanted :
       {Expected{"bert_small_h100.json.gz", 61, 132, 1, 1}, Expected{"event_sync_a100.json.gz", 6, 39, 3, 0},
        Expected{"param_benchmark_a100.json.gz", 98, 361, 2, 0}}) {
    const auto recording = read_recording(std::string(PLIMSOLL_TRACES) + "/" + wanted.file);
    INFO(wanted.file);
    REQUIRE(recording);
    CHECK(recording->work.size() == wanted.work);
    CHECK(recording->calls.size() == wanted.calls);
    CHECK(marked_steps(*recording).size() == wanted.steps);
    std::set<DeviceStream> streams;
    for (const DeviceWork& work : recording->work) streams.insert(work.on);
    CHECK(streams.size() == wanted.streams);
  }
}

TEST_CASE("files that are no traces are refused by what they may be") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.txt")) << "hello";
  std::ofstream(folder.file("a.zip")) << "PK\x03\x04";
  std::ofstream(folder.file("empty"));
  for (const char* name : {"a.txt", "a.zip", "empty", "absent"}) {
    const auto recording = read_recording(folder.file(name));
    REQUIRE_FALSE(recording);
    CHECK(recording.error().kind == ErrorKind::kInput);
  }
}

}  // namespace plimsoll::test
