#include <catch2/catch.hpp>

#include "core/plan/verify_plan.h"
#include "tests/support/random_plan.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

struct Damage {
  const char* what;
  void (*apply)(Plan&);
};

Plan sound_plan() {
  PlanWriter w;
  const auto x = w.buffer("x", "gpu0", Bytes(0), Bytes(256)), y = w.buffer("y", "gpu0", Bytes(256), Bytes(256));
  w.launch("compute", OpKind::kActivation, Phase::kForward, {read(x), write(y)});
  w.launch("compute", OpKind::kActivation, Phase::kForward, {read(x), write(y)}, {after(0)});
  Plan plan = w.finish(1);
  plan.state.push_back({TensorKind::kParameter, GroupId(0), x});
  return plan;
}

constexpr std::uint32_t kFar = 0xfffffff0u;

/// Of the sound plan.
const Damage kDamages[] = {
    {"queue", [](Plan& p) { p.blocks[0].list.instructions[0].queue = QueueId(kFar); }},
    {"kernel", [](Plan& p) { p.blocks[0].list.instructions[0].kernel = KernelId(); }},
    {"first use", [](Plan& p) { p.blocks[0].list.instructions[0].first_use = kFar; }},
    {"use count", [](Plan& p) { p.blocks[0].list.instructions[0].use_count = kFar; }},
    {"dependency count", [](Plan& p) { p.blocks[0].list.instructions[0].dependency_count = 1; }},
    {"member count", [](Plan& p) { p.blocks[0].list.instructions[0].member_count = 1; }},
    {"guard", [](Plan& p) { p.blocks[0].list.instructions[0].guard = 2; }},
    {"slot", [](Plan& p) { p.blocks[0].list.uses[0].target = 2; }},
    {"slot count", [](Plan& p) { p.blocks[0].slot_count = 1; }},
    {"port", [](Plan& p) { p.blocks[1].list.dependencies[0].target = 1; }},
    {"local",
     [](Plan& p) {
       p.blocks[1].list.dependencies[0] = {1, 0, true};
     }},
    {"port base", [](Plan& p) { p.bodies[0].calls[1].ports[0].base = 2; }},
    {"port stride",
     [](Plan& p) {
       p.bodies[0].calls[1].ports[0].stride = -1;
       p.bodies[0].calls[1].repeat = 2;
     }},
    {"binding", [](Plan& p) { p.bodies[0].calls[0].bindings[0].base = BufferId(2); }},
    {"binding count", [](Plan& p) { p.bodies[0].calls[0].bindings.pop_back(); }},
    {"binding stride",
     [](Plan& p) {
       p.bodies[0].calls[0].bindings[0].stride = 2;
       p.bodies[0].calls[0].repeat = 2;
     }},
    {"block", [](Plan& p) { p.bodies[0].calls[0].block = BlockId(9); }},
    {"repeat 0", [](Plan& p) { p.bodies[0].calls[0].repeat = 0; }},
    {"repeat too often", [](Plan& p) { p.bodies[0].calls[0].repeat = 0xffffffffu; }},
    {"layer",
     [](Plan& p) {
       p.bodies[0].calls[0].layer_stride = 0x7fffffff;
       p.bodies[0].calls[0].layer = 1;
       p.bodies[0].calls[0].repeat = 2;
     }},
    {"buffer space", [](Plan& p) { p.buffers[0].space = SpaceId(); }},
    {"slots 0", [](Plan& p) { p.buffers[0].slots = 0; }},
    {"slots too many", [](Plan& p) { p.buffers[0].slots = kMaxBufferSlots + 1; }},
    {"bytes", [](Plan& p) { p.buffers[0].bytes = Bytes(-1); }},
    {"two arenas", [](Plan& p) { p.arenas.push_back(p.arenas[0]); }},
    {"arena space", [](Plan& p) { p.arenas[0].space = SpaceId(); }},
    {"state buffer", [](Plan& p) { p.state[0].buffer = BufferId(2); }},
    {"link", [](Plan& p) { p.platform.links[0].from = SpaceId(7); }},
    {"link path", [](Plan& p) { p.platform.links[0].path[0].resource = ResourceId(); }},
    {"queue processor", [](Plan& p) { p.platform.queues[0].processor = ProcessorId(5); }},
    {"queue width", [](Plan& p) { p.platform.queues[0].width = 0; }},
    {"queue demand", [](Plan& p) { p.platform.queues[3].demands[0].resource = ResourceId(99); }},
    {"processor space", [](Plan& p) { p.platform.processors[0].space = SpaceId(99); }}};

}  // namespace

TEST_CASE("an index out of range is refused, whichever it is") {
  REQUIRE(check_indices(sound_plan()).has_value());
  for (const Damage& damage : kDamages) {
    Plan plan = sound_plan();
    damage.apply(plan);
    INFO(damage.what);
    const auto verdict = check_indices(plan);
    REQUIRE_FALSE(verdict.has_value());
    CHECK(verdict.error().kind == ErrorKind::kDefect);
    CHECK_FALSE(verify_plan(plan).has_value());
  }
}

TEST_CASE("random plans have all their indices in range") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) CHECK(check_indices(random_plan({.seed = seed})).has_value());
}
