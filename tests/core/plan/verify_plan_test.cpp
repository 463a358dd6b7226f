#include "core/plan/verify_plan.h"

#include <catch2/catch.hpp>

#include "tests/support/plan_writer.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Contains;

namespace {

constexpr Bytes kB{256};
constexpr auto kCopy = InstructionKind::kCopy;

/// The defect's text; empty when the plan is accepted.
std::string defect_of(const Plan& plan) {
  const auto verdict = verify_plan(plan);
  if (verdict) return {};
  CHECK(verdict.error().kind == ErrorKind::kDefect);
  return verdict.error().text();
}

/// Host to device, then a kernel on the device: `dependencies[i]` are those of instruction i.
Plan transfer_then_compute(std::vector<Dependency> of_copy, std::vector<Dependency> of_kernel,
                           std::uint32_t slots = 1) {
  PlanWriter w;
  const auto h = w.buffer("h", "host", Bytes(0), kB), d = w.buffer("d", "gpu0", Bytes(0), kB, slots);
  w.copy(kCopy, "h2d", read(h), write(d), std::move(of_copy));
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)}, std::move(of_kernel));
  return w.finish();
}

}  // namespace

TEST_CASE("a missing dependency is found and named") {
  const std::string defect = defect_of(transfer_then_compute({after(1, 1)}, {}));
  CHECK_THAT(defect, Contains("instruction 1 (launch") && Contains("instruction 0 (copy)") && Contains("buffer d"));
  CHECK_THAT(defect, Contains("[0, 256) of gpu0") && Contains("add a dependency on instruction 0 with distance 0"));
}

TEST_CASE("the next step's write needs a dependency on this step's read") {
  CHECK(defect_of(transfer_then_compute({after(1, 1)}, {after(0)})).empty());
  CHECK_THAT(defect_of(transfer_then_compute({}, {after(0)})),
             Contains("of the step before") && Contains("distance 1"));
}

TEST_CASE("two slots need distance 2; distance 1 is more than enough, distance 3 is too little") {
  CHECK(defect_of(transfer_then_compute({after(1, 2)}, {after(0)}, 2)).empty());
  CHECK(defect_of(transfer_then_compute({after(1, 1)}, {after(0)}, 2)).empty());
  CHECK_THAT(defect_of(transfer_then_compute({after(1, 3)}, {after(0)}, 2)), Contains("of 2 steps before"));
  CHECK_THAT(defect_of(transfer_then_compute({}, {after(0)}, 2)), Contains("distance 2"));
}

TEST_CASE("the order of a queue of width 1 suffices") {
  PlanWriter w;
  const auto d = w.buffer("d", "gpu0", Bytes(0), kB);
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)});
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)});
  const auto report = verify_plan(w.finish());
  REQUIRE(report);
  CHECK(report->instructions == 2);
  CHECK(report->expanded_bodies == 2);  // one slot: steps 0 and 1
  CHECK(report->checked_uses == 4);
}

TEST_CASE("the order of a wider queue does not suffice") {
  for (const bool ordered : {false, true}) {
    PlanWriter w;
    const auto s = w.buffer("s", "ssd", Bytes(0), kB), h = w.buffer("h", "host", Bytes(0), kB);
    w.copy(InstructionKind::kRead, "ssd.read", read(s), write(h), {after(1, 1)});
    w.copy(InstructionKind::kRead, "ssd.read", read(s), write(h),
           ordered ? std::vector{after(0)} : std::vector<Dependency>{});
    CHECK(defect_of(w.finish()).empty() == ordered);
  }
}

TEST_CASE("readers need no order among each other") {
  PlanWriter w;
  const auto x = w.buffer("x", "gpu0", Bytes(0), kB), y = w.buffer("y", "gpu0", kB, kB),
             h = w.buffer("h", "host", Bytes(0), kB);
  w.launch("compute", OpKind::kActivation, Phase::kForward, {read(x), write(y)});
  w.copy(kCopy, "d2h", read(x), write(h));
  CHECK(defect_of(w.finish()).empty());
}

TEST_CASE("a writer waits for all readers, not only the newest") {
  PlanWriter w;
  const auto x = w.buffer("x", "gpu0", Bytes(0), kB), y = w.buffer("y", "gpu0", kB, kB),
             h = w.buffer("h", "host", Bytes(0), kB);
  w.copy(kCopy, "d2h", read(x), write(h), {after(2, 1)});
  w.launch("compute", OpKind::kActivation, Phase::kForward, {read(x), write(y)});
  w.launch("compute", OpKind::kActivation, Phase::kForward,
           {read(y), write(x)});  // after 1 by its queue, but not after 0
  CHECK_THAT(defect_of(w.finish()), Contains("instruction 2") && Contains("instruction 0 (copy)"));
}

TEST_CASE("parts of a buffer that share no bytes need no order") {
  PlanWriter w;
  const auto d = w.buffer("d", "gpu0", Bytes(0), 2 * kB);
  const auto h = w.buffer("h", "host", Bytes(0), kB);
  const BufferUse low{d, Access::kRead, Bytes(0), kB}, high{d, Access::kReadWrite, kB, kB};
  w.copy(kCopy, "d2h", low, write(h));
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {high});
  CHECK(defect_of(w.finish()).empty());
}

TEST_CASE("different buffers over the same bytes need an order") {
  PlanWriter w;
  const auto a = w.buffer("a", "gpu0", Bytes(0), 2 * kB), b = w.buffer("b", "gpu0", kB, kB);
  const auto h = w.buffer("h", "host", Bytes(0), 2 * kB);
  w.copy(kCopy, "h2d", read(h), write(a), {after(1, 1)});
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(b)});
  CHECK_THAT(defect_of(w.finish()), Contains("[256, 512)") && Contains("buffer a") && Contains("buffer b"));
}

TEST_CASE("buffers of 2 and 3 slots over the same bytes are followed until they meet") {
  // In units of 256 bytes, a lies at 1 + s mod 2 in step s and b at s mod 3: at 1, 2, 1, 2, 1 and 0, 1, 2, 0, 1. They
  // meet within one step first in step 4. Dependencies of distance 1 order all that meet in different steps.
  PlanWriter w;
  const auto a = w.buffer("a", "gpu0", kB, kB, 2), b = w.buffer("b", "gpu0", Bytes(0), kB, 3);
  const auto h = w.buffer("h", "host", Bytes(0), kB);
  const std::vector<Dependency> both{after(0, 1), after(1, 1)};
  w.copy(kCopy, "h2d", read(h), write(a), both);
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(b)}, both);
  CHECK_THAT(defect_of(w.finish()),
             Contains("no path orders it after instruction 0 (copy);") && Contains("[256, 512)"));
}

TEST_CASE("a guard's flag is read") {
  for (const bool ordered : {false, true}) {
    PlanWriter w;
    const auto flag = w.buffer("flag", "gpu0", Bytes(0), kB), x = w.buffer("x", "gpu0", kB, kB);
    const auto h = w.buffer("h", "host", Bytes(0), kB);
    w.copy(kCopy, "h2d", read(h), write(flag), {after(1, 1)});
    w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(x), read(flag)},
             ordered ? std::vector{after(0)} : std::vector<Dependency>{}, 1);
    CHECK(defect_of(w.finish()).empty() == ordered);
  }
}

TEST_CASE("uses of one instruction may not share bytes when one writes") {
  PlanWriter w;
  const auto x = w.buffer("x", "gpu0", Bytes(0), kB);
  w.launch("compute", OpKind::kActivation, Phase::kForward, {read(x), write(x)});
  CHECK_THAT(defect_of(w.finish()), Contains("two of its own uses share bytes [0, 256)"));
}

TEST_CASE("a collective orders what its members' queues do before and after it") {
  for (const bool member : {false, true}) {
    PlanWriter w;  // "h2d" and "d2h" stand for two ranks' communication queues; both ranks touch x
    const auto x = w.buffer("x", "gpu0", Bytes(0), kB), h = w.buffer("h", "host", Bytes(0), kB);
    const auto g = w.buffer("g", "host", kB, kB);
    const QueueId left = queue_named(w.plan().platform, "h2d"), right = queue_named(w.plan().platform, "d2h");
    w.copy(kCopy, "h2d", read(h), write(x), {after(2, 1)});
    w.append({.kind = InstructionKind::kCollective, .queue = left}, {}, {},
             member ? std::vector<QueueId>{right} : std::vector<QueueId>{});
    w.copy(kCopy, "d2h", read(x), write(g));
    CHECK(defect_of(w.finish()).empty() == member);
  }
}

TEST_CASE("an arena that is larger than what is usable is refused") {
  PlanWriter w;
  w.buffer("x", "gpu0", Bytes(0), 65 * kMiB);
  w.marker("cpu");
  CHECK_THAT(defect_of(w.finish()), Contains("arena of gpu0") && Contains("65.0 MiB") && Contains("64.0 MiB"));
}

TEST_CASE("a buffer lies inside its arena with all its slots, at an aligned offset") {
  for (const auto& [slots, offset, accepted] :
       {std::tuple(2u, 256, true), std::tuple(3u, 256, false), std::tuple(2u, 512, false), std::tuple(1u, 128, false),
        std::tuple(1u, -256, false)}) {
    PlanWriter w;
    w.buffer("x", "gpu0", Bytes(0), kB);
    w.plan().buffers[0].slots = slots;
    w.plan().buffers[0].offset = Bytes(offset);
    w.plan().arenas[0].bytes = 3 * kB;
    w.marker("cpu");
    INFO(slots << " slots at " << offset);
    CHECK(defect_of(w.finish()).empty() == accepted);
  }
}

TEST_CASE("nothing shares bytes with a persistent buffer, used or not") {
  for (const auto& [offset, persistent, accepted] :
       {std::tuple(256, true, false), std::tuple(256, false, false), std::tuple(512, true, true)}) {
    PlanWriter w;
    w.buffer("weights", "gpu0", Bytes(0), 2 * kB, 1, true);
    w.buffer("other", "gpu0", Bytes(offset), kB, 1, persistent);
    w.marker("cpu");
    const std::string defect = defect_of(w.finish());
    CHECK(defect.empty() == accepted);
    if (!accepted) CHECK_THAT(defect, Contains("weights [0, 512)") && Contains("other [256, 512)"));
  }
}

TEST_CASE("each body of a plan is proved") {
  Plan plan = transfer_then_compute({after(1, 1)}, {after(0)});
  const Plan broken = transfer_then_compute({after(1, 1)}, {});
  PlanWriter w;
  plan.bodies.push_back(fold(plan, "evaluation", expand(broken, broken.bodies[0]), std::vector<Segment>{{}}));
  CHECK_THAT(defect_of(plan), Contains("body evaluation"));
}

namespace {

/// What happens to a state of two versions: "forward" reads the version before this step's, an update reads it and
/// writes this step's, and a redo under a guard may write that again.
///
///   step    slot 0                slot 1
///   0       update, redo write    forward, update, redo read
///   1       forward, ... read     update, redo write
///
/// So forward (age 1) needs a path from the redo of the step before, and the update (age 0) one from the readers of the
/// step before, which used the same slot at age 1.
Plan versions(std::vector<Dependency> of_forward, std::vector<Dependency> of_update, std::uint32_t slots = 2) {
  PlanWriter w;
  const auto state = w.buffer("state", "host", Bytes(0), kB, slots, true);
  const auto flag = w.buffer("flag", "host", Bytes(slots * kB.count), kB), device = w.buffer("device", "gpu0", Bytes(0), kB);
  w.copy(kCopy, "h2d", before(read(state)), write(device), std::move(of_forward));
  w.launch("cpu", OpKind::kActivation, Phase::kForward, {before(read(state)), write(state)}, std::move(of_update));
  w.launch("cpu", OpKind::kActivation, Phase::kForward, {before(read(state)), write(state), read(flag)}, {}, 2);
  return w.finish();
}

}  // namespace

TEST_CASE("a step may read a state's version of the step before while it writes the next one") {
  CHECK(defect_of(versions({after(2, 1)}, {after(0, 1)})).empty());
}

TEST_CASE("a reader of the version of the step before needs a path from its last writer, guarded or not") {
  CHECK_THAT(defect_of(versions({}, {after(0, 1)})), Contains("instruction 0 (copy)") && Contains("of the step before"));
  CHECK_THAT(defect_of(versions({after(1, 1)}, {after(0, 1)})),
             Contains("no path orders it after instruction 2") && Contains("distance 1"));
}

TEST_CASE("a version is not overwritten before its readers of the step before have ended") {
  // In step s the copy reads slot (s − 1) mod 2, which the update of step s + 1 writes.
  CHECK_THAT(defect_of(versions({after(2, 1)}, {})),
             Contains("instruction 1 (launch") && Contains("instruction 0 (copy) of the step before"));
}

TEST_CASE("conflicts of a use of age 1 within its own step are found") {
  // Both instructions use the slot of the step before; nothing in step 0 uses slot 0 at age 1, step 1 shows it first.
  PlanWriter w;
  const auto state = w.buffer("state", "gpu0", Bytes(0), kB, 2), host = w.buffer("host", "host", Bytes(0), kB);
  w.copy(kCopy, "h2d", read(host), before(write(state)), {after(1, 1)});
  w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {before(update(state))});
  CHECK_THAT(defect_of(w.finish()), Contains("instruction 1 (launch") && Contains("distance 0"));
}

TEST_CASE("a use older than its buffer's slots is refused") {
  CHECK_THAT(defect_of(versions({after(2, 1)}, {after(0, 1)}, 1)),
             Contains("uses buffer state at age 1, and it has 1 slot") && Contains("give it 2 slots"));
}

TEST_CASE("slots that share bytes only from the second on, for their distances differ, are seen") {
  // a: 512 bytes at 0, 512, 1024; its second half at 256, 768, 1280. b: 256 bytes at 512, 768, 1024. Slot 1 of both shares
  // [768, 1024), slots 0 share nothing.
  PlanWriter w;
  const BufferId a = w.buffer("a", "host", Bytes(0), Bytes(512), 3);
  const BufferId b = w.buffer("b", "host", Bytes(512), Bytes(256), 3);
  w.launch("cpu", OpKind::kRopeBackward, Phase::kBackward, {update(b)});
  w.host_work(HostTask::kLoadTokens, {{a, Access::kWrite, Bytes(256), Bytes(256)}});
  CHECK_FALSE(verify_plan(w.finish()));
}

TEST_CASE("only the step turns the versions of a state") {
  for (const bool persistent : {false, true}) {
    PlanWriter w;
    const auto state = w.buffer("state", "gpu0", Bytes(0), kB, 2, persistent);
    w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(state)});
    Plan plan = w.finish();
    CHECK(defect_of(plan).empty());
    plan.bodies[0].name = "evaluation";
    CHECK(defect_of(plan).empty() == !persistent);
  }
}
