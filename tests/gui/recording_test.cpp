#include <catch2/catch.hpp>

#include <fstream>

#include "gui/timeline/open_recording.h"
#include "gui/timeline/timeline_page.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name), std::ios::binary) << text;
  return folder.file(name);
}

}  // namespace

TEST_CASE("a trace of Kineto's opens with a track for each stream, for calls and for what threads named") {
  const TemporaryFolder folder;
  const std::string path = written(folder, "trace.json", R"({"traceEvents":[
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":1000,"dur":4,"args":{"correlation":9}},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1006,"dur":2,"args":{"device":0,"stream":7,"correlation":9}},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":11,"ts":999,"dur":6},
    {"ph":"X","cat":"cpu_op","name":"aten::t","pid":10,"tid":11,"ts":1001,"dur":1}]})");
  REQUIRE(looks_like_recording(path));
  const auto timeline = open_recording(path);
  REQUIRE(timeline);
  REQUIRE((*timeline)->tracks.size() == 3);
  CHECK((*timeline)->tracks[0].name == "gpu0 · stream 7");
  CHECK((*timeline)->tracks[0].kind == QueueKind::kCompute);
  CHECK((*timeline)->tracks[1].lanes.size() == 2);  // one operator within another
  CHECK((*timeline)->event_count() == 4);
}

TEST_CASE("categories and threads of other programs, in words, open too: nothing of them is computed with") {
  const TemporaryFolder folder;
  const auto timeline = open_recording(written(folder, "other.json", R"([{"ph":"X","cat":"forward","name":"norm","pid":"p","tid":"compute","ts":1,"dur":2},
    {"ph":"X","cat":"backward","name":"norm","pid":"p","tid":"compute","ts":4,"dur":2}])"));
  REQUIRE(timeline);
  REQUIRE((*timeline)->tracks.size() == 1);
  CHECK((*timeline)->tracks[0].name == "compute");
  CHECK((*timeline)->event_count() == 2);
  CHECK((*timeline)->labels.size() == 2);  // of one name, painted as what they are
  CHECK_FALSE(open_recording(written(folder, "empty.json", "[]")));
}
