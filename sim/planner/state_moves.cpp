#include "sim/planner/state_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/graph/optimizer_state.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "migration", .remedy = "plan again for this run"});
}

Result<void> check_alike(const Plan& old, const Plan& next) {
  if (numerics_digest(old.spec, old.recipe) != numerics_digest(next.spec, next.recipe)) {
    return refuse("the two plans train different numbers");
  }
  const auto& before = old.platform.spaces;
  const auto& after = next.platform.spaces;
  const bool alike = std::equal(before.begin(), before.end(), after.begin(), after.end(),
                                [](const MemorySpace& a, const MemorySpace& b) { return a.kind == b.kind; });
  if (alike) return {};
  return refuse(fmt::format("'{}' and '{}' have different memories", old.platform.name, next.platform.name));
}

/// Step s writes slot s mod slots, so after k steps the newest version, which step k reads, lies in slot k − 1.
StatePlace place_of(const Buffer& buffer, std::int64_t steps_done) {
  const auto newest = static_cast<std::uint64_t>(steps_done) + buffer.slots - 1;
  return {buffer.space, buffer.offset_in(newest), buffer.bytes};
}

bool is_weights(TensorKind kind) { return kind == TensorKind::kParameter || kind == TensorKind::kMaster; }

class MoveFinder {
 public:
  MoveFinder(const Plan& old, const Plan& next, std::int64_t steps_done)
      : old_(old), next_(next), steps_done_(steps_done), layout_(lay_out_parameters(next.spec, next.recipe.adapter)) {}

  [[nodiscard]] Result<StateMove> find(const StateBinding& wanted) const {
    StateMove move{.name = fmt::format("{} of {}", to_text(wanted.kind), layout_.at(wanted.group).name),
                   .category = wanted.kind,
                   .from = {},
                   .to = place_of(next_.at(wanted.buffer), steps_done_),
                   .bytes = bytes_of(wanted)};
    const StateBinding* best = nullptr;
    for (const StateBinding& held : old_.state) {
      if (!serves(held, wanted)) continue;
      if (best == nullptr || distance(held, move.to) < distance(*best, move.to)) best = &held;
    }
    if (best == nullptr) return refuse(fmt::format("the plan that ran keeps no {}", move.name));
    move.from = place_of(old_.at(best->buffer), steps_done_);
    if (move.from.room >= move.bytes && move.to.room >= move.bytes) return move;
    return refuse(fmt::format("{} takes {} bytes, more than its buffers have", move.name, move.bytes.count));
  }

 private:
  [[nodiscard]] bool serves(const StateBinding& held, const StateBinding& wanted) const {
    if (held.group != wanted.group) return false;
    const bool one_copy = !has_master_copy(next_.recipe.precision) && is_weights(held.kind) && is_weights(wanted.kind);
    return held.kind == wanted.kind || one_copy;
  }

  [[nodiscard]] Bytes bytes_of(const StateBinding& binding) const {
    return bytes_of_state(next_.recipe, layout_.at(binding.group), binding.kind);
  }

  /// What lies there already comes first, then the same memory, then any memory, then a drive.
  [[nodiscard]] std::tuple<bool, bool, bool> distance(const StateBinding& held, const StatePlace& to) const {
    const StatePlace from = place_of(old_.at(held.buffer), steps_done_);
    const bool elsewhere = from.space != to.space;
    return {elsewhere || from.offset != to.offset, elsewhere, old_.platform.at(from.space).kind == SpaceKind::kSsd};
  }

  const Plan& old_;
  const Plan& next_;
  std::int64_t steps_done_;
  ParameterLayout layout_;
};

}  // namespace

Result<std::vector<StateMove>> state_moves(const Plan& old, const Plan& next, std::int64_t steps_done) {
  if (const auto alike = check_alike(old, next); !alike) return fail(alike.error());
  const MoveFinder finder(old, next, steps_done);
  std::vector<StateMove> moves;
  for (const StateBinding& wanted : next.state) {
    auto move = finder.find(wanted);
    if (!move) return fail(move.error());
    moves.push_back(std::move(*move));
  }
  return moves;
}

}  // namespace plimsoll
