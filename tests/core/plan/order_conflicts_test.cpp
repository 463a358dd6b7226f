#include "core/plan/order_conflicts.h"

#include <catch2/catch.hpp>

#include "tests/support/plan_writer.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

std::vector<Dependency> dependencies_of(PlanWriter& w, std::uint32_t id) {
  const auto found = w.body().dependencies(w.body().list.instructions[id]);
  return {found.begin(), found.end()};
}

constexpr Bytes kB{256};

}  // namespace

TEST_CASE("a reader on another queue is ordered after its writer, and the next step's writer after the reader") {
  PlanWriter w;
  const auto h = w.buffer("h", "host", Bytes(0), kB), d = w.buffer("d", "gpu0", Bytes(0), kB);
  const auto in = w.copy(InstructionKind::kCopy, "h2d", read(h), write(d));
  const auto use = w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)});
  order_conflicts(w.plan(), w.body());
  CHECK(dependencies_of(w, use) == std::vector<Dependency>{after(in)});
  CHECK(dependencies_of(w, in) == std::vector<Dependency>{after(use, 1)});
}

TEST_CASE("two slots let the next step's transfer run ahead: only the step before the last holds it up") {
  PlanWriter w;
  const auto h = w.buffer("h", "host", Bytes(0), kB), d = w.buffer("d", "gpu0", Bytes(0), kB, 2);
  const auto in = w.copy(InstructionKind::kCopy, "h2d", read(h), write(d));
  const auto use = w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)});
  order_conflicts(w.plan(), w.body());
  CHECK(dependencies_of(w, use) == std::vector<Dependency>{after(in)});
  CHECK(dependencies_of(w, in) == std::vector<Dependency>{after(use, 2)});
}

TEST_CASE("queue order needs no dependency") {
  PlanWriter w;
  const auto d = w.buffer("d", "gpu0", Bytes(0), kB);
  for (int i = 0; i < 3; ++i) w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)});
  order_conflicts(w.plan(), w.body());
  CHECK(w.body().list.dependencies.empty());
}

TEST_CASE("one dependency on the newest stands for all that it is after") {
  PlanWriter w;
  const auto a = w.buffer("a", "gpu0", Bytes(0), kB), b = w.buffer("b", "gpu0", kB, kB);
  const auto h = w.buffer("h", "host", Bytes(0), 2 * kB);
  w.launch("compute", OpKind::kActivation, Phase::kForward, {read(b), write(a)});
  const auto second = w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(b)});
  const auto whole = w.buffer("whole", "gpu0", Bytes(0), 2 * kB);  // covers a and b
  const auto out = w.copy(InstructionKind::kCopy, "d2h", read(whole), write(h));
  order_conflicts(w.plan(), w.body());
  CHECK(dependencies_of(w, out) == std::vector<Dependency>{after(second)});
  CHECK(dependencies_of(w, 0) == std::vector<Dependency>{after(out, 1)});
}

TEST_CASE("a wide queue's reads into one buffer are ordered one by one") {
  PlanWriter w;
  const auto s = w.buffer("s", "ssd", Bytes(0), kB), h = w.buffer("h", "host", Bytes(0), kB);
  const auto first = w.copy(InstructionKind::kRead, "ssd.read", read(s), write(h));
  const auto second = w.copy(InstructionKind::kRead, "ssd.read", read(s), write(h));
  order_conflicts(w.plan(), w.body());
  CHECK(dependencies_of(w, second) == std::vector<Dependency>{after(first)});
  CHECK(dependencies_of(w, first) == std::vector<Dependency>{after(second, 1)});
}

TEST_CASE("dependencies that stand there are kept, sorted and counted once") {
  PlanWriter w;
  const auto d = w.buffer("d", "gpu0", Bytes(0), kB);
  w.marker("cpu");
  w.marker("data");
  const auto id = w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(d)},
                           {after(1), after(0, 1), after(0), after(1)});
  order_conflicts(w.plan(), w.body());
  CHECK(dependencies_of(w, id) == std::vector<Dependency>{after(0), after(1), after(0, 1)});
}

TEST_CASE("a serial plan runs one instruction after another, across steps too") {
  PlanWriter w;
  for (const char* queue : {"cpu", "data", "compute"}) w.marker(queue);
  order_conflicts(w.plan(), w.body(), true);
  CHECK(dependencies_of(w, 0) == std::vector<Dependency>{after(2, 1)});
  CHECK(dependencies_of(w, 1) == std::vector<Dependency>{after(0)});
  CHECK(dependencies_of(w, 2) == std::vector<Dependency>{after(1)});
}

TEST_CASE("ordering an ordered body changes nothing") {
  PlanWriter w;
  const auto h = w.buffer("h", "host", Bytes(0), kB, 3), d = w.buffer("d", "gpu0", Bytes(0), kB);
  w.copy(InstructionKind::kCopy, "h2d", read(h), write(d));
  w.copy(InstructionKind::kCopy, "d2h", read(d), write(h));
  order_conflicts(w.plan(), w.body());
  const InstructionList once = w.body().list;
  order_conflicts(w.plan(), w.body());
  CHECK(w.body().list == once);
}
