#include <catch2/catch.hpp>

#include "core/plan/operand_pattern.h"
#include "core/plan/verify_plan.h"
#include "tests/support/direct_ways.h"
#include "tests/support/law_checker.h"
#include "tests/support/plan_writer.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Contains;

namespace {

constexpr Bytes kB{256};

/// A writer with a buffer of 256 bytes in each space.
struct Desk : PlanWriter {
  BufferId gpu = buffer("gpu", "gpu0", Bytes(0), kB);
  BufferId gpu2 = buffer("gpu2", "gpu0", kB, kB);
  BufferId host = buffer("host", "host", Bytes(0), kB);
  BufferId file = buffer("file", "ssd", Bytes(0), kB);

  std::string defect() const {
    const auto verdict = verify_plan(finish());
    return verdict ? std::string() : verdict.error().text();
  }
};

}  // namespace

TEST_CASE("a copy along no link is refused") {
  Desk d;
  d.copy(InstructionKind::kWrite, "ssd.write", read(d.gpu), write(d.file));
  CHECK_THAT(d.defect(), Contains("no link leads from gpu0 to ssd"));
}

TEST_CASE("a drive and a device exchange data straight where links lead from one to the other, and in order like everything") {
  Desk d;
  d.plan().platform = with_direct_ways(d.plan().platform);
  const auto stored = d.copy(InstructionKind::kWrite, "ssd.write", read(d.gpu), write(d.file));
  const auto back = d.copy(InstructionKind::kRead, "ssd.read", read(d.file), write(d.gpu2), {after(stored), after(stored, 1)});
  d.body().list.dependencies.push_back(after(back, 1));  // the next step's write finds the file read
  Desk unordered = d;
  Instruction& first = d.body().list.instructions[stored];
  first.first_dependency = static_cast<std::uint32_t>(d.body().list.dependencies.size()) - 1;
  first.dependency_count = 1;
  CHECK(d.defect().empty());
  CHECK_FALSE(broken_law(d.finish(), 2));
  CHECK_THAT(unordered.defect(), Contains("no path orders it after"));
  CHECK(broken_law(unordered.finish(), 2));
  Desk no_way_back = d;
  no_way_back.plan().platform.links.pop_back();
  CHECK_THAT(no_way_back.defect(), Contains("no link leads from gpu0 to ssd"));
  CHECK_THAT(broken_law(no_way_back.finish(), 2).value(), Contains("a copy along no link"));
}

TEST_CASE("within one memory a processor copies that reaches it, and no other") {
  Desk near, far;
  near.copy(InstructionKind::kCopy, "compute", read(near.gpu), write(near.gpu2));
  CHECK(near.defect().empty());
  far.copy(InstructionKind::kCopy, "cpu", read(far.gpu), write(far.gpu2));
  CHECK_THAT(far.defect(), Contains("copies within gpu0, which the processor of queue cpu does not reach"));
}

TEST_CASE("a file is read and written by file instructions only") {
  Desk d, read_of_host;
  d.copy(InstructionKind::kCopy, "h2d", read(d.file), write(d.host));
  CHECK_THAT(d.defect(), Contains("copy from ssd to host"));
  read_of_host.copy(InstructionKind::kRead, "ssd.read", read(d.host), write(d.gpu));
  CHECK_THAT(read_of_host.defect(), Contains("read from host to gpu0"));
}

TEST_CASE("a copy moves as many bytes as it is given room for") {
  Desk d;
  d.copy(InstructionKind::kCopy, "h2d", read(d.host), {d.gpu, Access::kWrite, Bytes(0), Bytes(128)});
  CHECK_THAT(d.defect(), Contains("copies 256 bytes to 128"));
}

TEST_CASE("a kernel's operands lie in its processor's memory") {
  Desk d;
  d.launch("compute", OpKind::kActivation, Phase::kForward, {read(d.host), write(d.gpu)});
  CHECK_THAT(d.defect(), Contains("buffer host, which lies in host") && Contains("copy it to gpu0 first"));
}

TEST_CASE("a kernel has the operands of its kind, in order") {
  Desk missing, swapped;
  missing.launch("compute", OpKind::kActivation, Phase::kForward, {write(missing.gpu)});
  CHECK_THAT(missing.defect(), Contains("not the operands of"));
  swapped.launch("compute", OpKind::kActivation, Phase::kForward, {write(swapped.gpu), read(swapped.gpu2)});
  CHECK_THAT(swapped.defect(), Contains("not the operands of"));
}

TEST_CASE("a kernel runs in its phase and on a queue that runs kernels") {
  Desk early, elsewhere;
  early.launch("compute", OpKind::kRopeBackward, Phase::kForward, {update(early.gpu)});
  CHECK_THAT(early.defect(), Contains("does not belong into the phase"));
  elsewhere.launch("h2d", OpKind::kRopeBackward, Phase::kBackward, {update(elsewhere.gpu)});
  CHECK_THAT(elsewhere.defect(), Contains("runs no kernels"));
}

TEST_CASE("a dependency names an earlier instruction or an earlier step") {
  for (const auto& [dependency, accepted] :
       {std::pair(after(1), false), std::pair(after(0), false), std::pair(after(1, 1), true)}) {
    Desk d;
    d.marker("cpu", {dependency});
    d.marker("data");
    CHECK(d.defect().empty() == accepted);
  }
}

TEST_CASE("a use lies inside its buffer") {
  for (const auto& [offset, bytes] : {std::pair(Bytes(128), Bytes(256)), std::pair(Bytes(-1), Bytes(1)),
                                      std::pair(Bytes(std::int64_t{1} << 62), Bytes(std::int64_t{1} << 62))}) {
    Desk d;
    d.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {{d.gpu, Access::kReadWrite, offset, bytes}});
    CHECK_THAT(d.defect(), Contains("of buffer gpu, which has 256"));
  }
}

TEST_CASE("a collective names each queue once, and no wide one") {
  Desk twice, wide;
  const Platform platform = tiny_platform();
  const QueueId h2d = queue_named(platform, "h2d");
  twice.append({.kind = InstructionKind::kCollective, .queue = h2d}, {}, {}, {h2d});
  CHECK_THAT(twice.defect(), Contains("names a queue twice"));
  wide.append({.kind = InstructionKind::kCollective, .queue = h2d}, {}, {}, {queue_named(platform, "ssd.read")});
  CHECK_THAT(wide.defect(), Contains("ssd.read, which is 4 wide"));
}

TEST_CASE("only a collective has members, only host work has a task, a marker uses nothing") {
  Desk members, task, marker, idle;
  const QueueId cpu = queue_named(members.plan().platform, "cpu");
  members.append({.kind = InstructionKind::kMarker, .queue = cpu}, {}, {}, {cpu});
  CHECK_THAT(members.defect(), Contains("names members"));
  task.append({.kind = InstructionKind::kMarker, .task = HostTask::kLoadTokens, .queue = cpu}, {}, {});
  CHECK_THAT(task.defect(), Contains("has a host task"));
  marker.append({.kind = InstructionKind::kMarker, .queue = cpu}, {read(marker.host)}, {});
  CHECK_THAT(marker.defect(), Contains("marker and uses buffers"));
  idle.append({.kind = InstructionKind::kHostWork, .queue = cpu}, {read(idle.host)}, {});
  CHECK_THAT(idle.defect(), Contains("has no task"));
}

TEST_CASE("token loads only write, in the load phase; reports only read; both in host memory") {
  Desk load, late, report, device;
  load.host_work(HostTask::kLoadTokens, {update(load.host)});
  CHECK_THAT(load.defect(), Contains("does not only write"));
  late.host_work(HostTask::kLoadTokens, {write(late.host)});
  late.body().list.instructions[0].phase = Phase::kForward;
  CHECK_THAT(late.defect(), Contains("loads tokens in the phase"));
  report.host_work(HostTask::kReportLoss, {write(report.host)});
  CHECK_THAT(report.defect(), Contains("does not only read"));
  device.host_work(HostTask::kReportLoss, {read(device.gpu)});
  CHECK_THAT(device.defect(), Contains("which lies in gpu0"));
}

TEST_CASE("optional operands may be there or not, the others must") {
  const auto uses = [](std::string_view accesses) {
    std::vector<Use> list;
    for (const char a : accesses) {
      list.push_back({.access = a == 'r' ? Access::kRead : a == 'w' ? Access::kWrite : Access::kReadWrite});
    }
    return list;
  };
  const auto fits = [&](OpKind kind, std::string_view accesses, std::uint32_t guard = kNoGuard) {
    return matches_pattern(operand_pattern(kind), uses(accesses), guard);
  };
  CHECK(fits(OpKind::kNormBackward, "rrrruww"));  // no bias: the last write is the workspace
  CHECK(fits(OpKind::kNormBackward, "rrrrwwww"));
  CHECK(fits(OpKind::kNormBackward, "rrrrww"));  // of a frozen norm: no gradient but that of its input
  CHECK_FALSE(fits(OpKind::kNormBackward, "rrrrw"));
  CHECK(fits(OpKind::kAdamW, "uuur"));
  CHECK(fits(OpKind::kAdamW, "uuurr"));
  CHECK(fits(OpKind::kAdamW, "uuurw"));
  CHECK(fits(OpKind::kAdamW, "uuurrw"));
  CHECK_FALSE(fits(OpKind::kAdamW, "uuurww"));
  CHECK(fits(OpKind::kRope, "ur", 1));  // the flag is no operand
  CHECK(fits(OpKind::kRope, "ru", 0));
  CHECK_FALSE(fits(OpKind::kRope, "ur"));
}
