#include "tests/sim/planner/state_memory.h"

#include <algorithm>
#include <vector>

#include "core/graph/optimizer_state.h"
#include "core/plan/expand.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

using Memory = std::vector<std::vector<std::uint8_t>>;  // by space

bool is_weights(TensorKind kind) { return kind == TensorKind::kParameter || kind == TensorKind::kMaster; }

/// In fp32 both copies of the weights are one state.
std::uint8_t byte_of(const Plan& plan, const StateBinding& state, std::int64_t at) {
  const bool one_copy = !has_master_copy(plan.recipe.precision) && is_weights(state.kind);
  const auto kind = static_cast<std::uint64_t>(one_copy ? TensorKind::kParameter : state.kind);
  const std::uint64_t mixed = (kind * 1009 + state.group.index * 31 + static_cast<std::uint64_t>(at) + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint8_t>(mixed >> 56);
}

std::int64_t size_of_state(const Plan& plan, const StateBinding& state) {
  return bytes_of_state(plan.recipe, lay_out_parameters(plan.spec).at(state.group), state.kind).count;
}

/// Where the version lies that step `steps_done` reads.
std::uint8_t* begin_of(Memory& memory, const Plan& plan, const StateBinding& state, std::int64_t steps_done) {
  const Buffer& buffer = plan.at(state.buffer);
  const auto slot = (static_cast<std::uint64_t>(steps_done) + buffer.slots - 1) % buffer.slots;
  return memory[buffer.space.index].data() + buffer.offset_in(slot).count;
}

void carry_out(const Plan& plan, const FlatBody& body, const Instruction& instruction, Memory& memory) {
  const auto uses = body.uses(instruction);
  const auto address = [&](const Use& use) {
    const Buffer& buffer = plan.buffers[use.target];
    return memory[buffer.space.index].data() + (buffer.offset + use.offset).count;
  };
  std::copy_n(address(uses[0]), uses[0].bytes.count, address(uses[1]));
}

/// Carries out all instructions, each time a random one of those that may be next.
void carry_out_all(const Plan& plan, const FlatBody& body, Memory& memory, std::mt19937_64& random) {
  std::vector<std::vector<std::uint32_t>> queues(plan.platform.queues.size());
  for (std::uint32_t id = static_cast<std::uint32_t>(body.size()); id-- > 0;) {
    queues[body.list.instructions[id].queue.index].push_back(id);
  }
  std::vector<bool> done(body.size(), false);
  for (std::size_t count = 0; count < body.size(); ++count) {
    std::vector<std::vector<std::uint32_t>*> ready;
    for (auto& queue : queues) {
      if (queue.empty()) continue;
      const auto needed = body.dependencies(body.list.instructions[queue.back()]);
      if (std::all_of(needed.begin(), needed.end(), [&](const Dependency& d) { return d.distance > 0 || done[d.target]; })) {
        ready.push_back(&queue);
      }
    }
    auto& queue = *ready.at(random() % ready.size());
    carry_out(plan, body, body.list.instructions[queue.back()], memory);
    done[queue.back()] = true;
    queue.pop_back();
  }
}

/// Puts every state somewhere, in a random order with random gaps.
Plan random_layout(const Plan& training, std::mt19937_64& random) {
  const auto one_in = [&](std::uint64_t n) { return random() % n == 0; };
  Plan plan = training;
  const bool mixed = has_master_copy(plan.recipe.precision);
  const bool own_master = mixed || one_in(2);
  const std::uint64_t favourite = random() % 3;
  const ParameterLayout layout = lay_out_parameters(plan.spec);
  for (std::uint32_t g = 0; g < layout.groups.size(); ++g) {
    plan.state.push_back({TensorKind::kParameter, GroupId(g), {}});
    if (own_master) plan.state.push_back({TensorKind::kMaster, GroupId(g), {}});
    for (const OptimizerState& state : optimizer_states(plan.recipe, layout.groups[g])) {
      plan.state.push_back({state.kind, GroupId(g), {}});
    }
  }
  std::shuffle(plan.state.begin(), plan.state.end(), random);
  std::vector<Bytes> tops(plan.platform.spaces.size());
  for (StateBinding& state : plan.state) {
    const SpaceId space(one_in(3) ? random() % 3 : favourite);
    const bool drive = plan.platform.at(space).kind == SpaceKind::kSsd;
    const Bytes alignment = drive ? kStorageAlignment : kBufferAlignment;
    Bytes& top = tops[space.index];
    top = align_up(top, alignment);
    if (one_in(8)) top += alignment * static_cast<std::int64_t>(random() % 20);
    Bytes bytes(size_of_state(plan, state));
    if (drive || one_in(3)) bytes = align_up(bytes, kStorageAlignment);
    state.buffer = BufferId(plan.buffers.size());
    plan.buffers.push_back({.name = "state", .space = space, .offset = top, .bytes = bytes,
                            .slots = one_in(4) ? 2u : 1u, .category = state.kind, .persistent = true});
    top += plan.buffers.back().extent();
  }
  for (std::uint32_t s = 0; s < tops.size(); ++s) {
    if (tops[s].count > 0) plan.arenas.push_back({SpaceId(s), tops[s]});
  }
  return plan;
}

}  // namespace

std::string first_lost_state(const Plan& old, const Plan& next, std::int64_t steps_done, const Plan& migration,
                             std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Memory memory;
  for (std::uint32_t s = 0; s < migration.platform.spaces.size(); ++s) {
    memory.emplace_back(static_cast<std::size_t>(migration.arena_bytes(SpaceId(s)).count), static_cast<std::uint8_t>(random()));
  }
  for (const StateBinding& state : old.state) {
    std::uint8_t* begin = begin_of(memory, old, state, steps_done);
    const std::int64_t size = size_of_state(old, state);
    for (std::int64_t i = 0; i < size; ++i) begin[i] = byte_of(old, state, i);
  }
  carry_out_all(migration, expand(migration, *migration.body(kMigrateBody)), memory, random);
  for (const StateBinding& state : next.state) {
    const std::uint8_t* begin = begin_of(memory, next, state, steps_done);
    const std::int64_t size = size_of_state(next, state);
    for (std::int64_t i = 0; i < size; ++i) {
      if (begin[i] != byte_of(next, state, i)) return next.at(state.buffer).name + ", byte " + std::to_string(i);
    }
  }
  return {};
}

RandomMigration draw_migration(std::mt19937_64& random) {
  Plan training;
  training.spec = small_model(random() % 2 == 0 ? Family::kGpt2 : Family::kLlama, 1 + static_cast<std::int64_t>(random() % 4));
  training.spec.vocabulary = 16 + static_cast<std::int64_t>(random() % 300);
  training.recipe = small_recipe();
  training.recipe.optimizer = static_cast<OptimizerKind>(random() % (static_cast<std::uint64_t>(OptimizerKind::kLion) + 1));
  training.recipe.precision = random() % 4 == 0 ? Precision::kBf16Mixed : Precision::kFp32;
  training.platform = tiny_platform();
  RandomMigration drawn{.old = random_layout(training, random), .next = random_layout(training, random)};
  drawn.steps_done = static_cast<std::int64_t>(random() % 5);
  drawn.spare = random() % 2 == 0 ? Bytes(static_cast<std::int64_t>(random() % 5) * kBufferAlignment.count * 16)
                                  : Bytes(static_cast<std::int64_t>(random() % 65536));
  drawn.options.leg = kStorageAlignment * static_cast<std::int64_t>(1 + random() % 4);
  drawn.options.staged_legs = 1 + static_cast<std::uint32_t>(random() % 4);
  const SpaceId host = space_named(training.platform, "host");
  const Bytes most = std::max(drawn.old.arena_bytes(host), drawn.next.arena_bytes(host)) + drawn.spare;
  for (Plan* plan : {&drawn.old, &drawn.next}) plan->platform.spaces[host.index].usable = most;
  return drawn;
}

}  // namespace plimsoll::test
