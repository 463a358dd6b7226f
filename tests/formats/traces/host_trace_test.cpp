#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/trace/nested_ranges.h"
#include "formats/traces/read_kineto.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

Result<Recording> read_events(const std::string& events) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.json"), std::ios::binary) << R"({"traceEvents":[)" << events << "]}";
  return read_kineto(folder.file("a.json"));
}

}  // namespace

TEST_CASE("what nobody asks for is passed over, with its brackets, texts and escapes") {
  const std::string args = R"("args":{"Input Dims":[[2,[3]],{"}":"]"}],"text":"a \" } ] \\","n":-1.5e3,"t":[true,false,null,NaN]})";
  const std::string mm = R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5,"dur":2,)" + args + R"(,"odd":["\u12"],"id":7})";
  const std::string arrow = R"({"ph":"s","id":[{}],"cat":"ac2g",)" + args + "}";
  const auto read = read_events(mm + "," + arrow + "," + mm);
  REQUIRE(read);
  REQUIRE(read->ranges.size() == 2);
  CHECK((read->ranges[1].end - read->ranges[1].start).count == 2000);
  CHECK(read->losses.empty());
  CHECK_FALSE(read_events(R"({"ph":"s","id":[}]})"));
  CHECK_FALSE(read_events(R"({"ph":"s","id":[;]})"));
  CHECK_FALSE(read_events(R"({"ph":"X","cat":"cpu_op","args":{"a":[1,2}})"));
}

TEST_CASE("memory of the host is kept apart from the device's") {
  const auto read = read_events(R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Device Type":0,)"
                                R"("Device Id":-1,"Addr":64,"Bytes":4096,"Total Allocated":8192,"Total Reserved":0}})");
  REQUIRE(read);
  REQUIRE(read->allocations.size() == 1);
  CHECK(read->allocations[0].memory_kind == kPageableMemoryKind);
  CHECK(read->allocations[0].allocated == 8192);
  CHECK(read->allocations[0].reserved == -1);
}

TEST_CASE("a step that PyTorch recorded on a CPU is read with its operators and the memory of its tensors") {
  // Counted in the file itself: 2094 operators and three annotations, of which one is the step; 1110 memory events of the host.
  const auto recording = read_kineto(std::string(PLIMSOLL_TRACES) + "/gpt2_cpu.json.gz");
  REQUIRE(recording);
  CHECK(recording->work.empty());
  CHECK(recording->ranges.size() == 2097);
  REQUIRE(marked_steps(*recording).size() == 1);
  REQUIRE(recording->allocations.size() == 1110);
  std::int64_t peak = 0;
  for (const AllocationEvent& event : recording->allocations) peak = std::max(peak, event.allocated);
  CHECK(peak == 1'161'272);
  std::size_t operators = 0;
  Nanoseconds own;
  for (const OperatorTotal& total : operator_totals(*recording)) {
    operators += total.count;
    own += total.own;
    CHECK(total.own >= Nanoseconds(0));
    if (total.name == "aten::addmm") CHECK(total.count == 8);  // two blocks: attention in and out, feed-forward in and out
  }
  CHECK(operators == 2094);
  const RecordedStep step = marked_steps(*recording).front();
  CHECK(own > Nanoseconds((step.end - step.start).count / 2));
  CHECK(own <= step.end - step.start);  // one thread
}

}  // namespace plimsoll::test
