#include "sim/planner/migrate_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/order_conflicts.h"
#include "sim/planner/body_writer.h"
#include "sim/planner/sequence_moves.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {
namespace {

/// Slots of a staging area that has little room.
constexpr std::int64_t kManySlots = 64;

/// Half-open range of the host's arena.
struct Gap {
  Bytes begin;
  Bytes end;

  [[nodiscard]] Bytes size() const { return end - begin; }
};

Bytes larger_arena(const Plan& old, const Plan& next, SpaceId space) {
  return std::max(old.arena_bytes(space), next.arena_bytes(space));
}

/// Writes the legs as instructions, with the buffers that they use.
class MigrationWriter {
 public:
  MigrationWriter(const Plan& old, const Plan& next, const Places& places, const std::vector<StateMove>& moves)
      : moves_(moves), places_(places), book_(plan_), out_(plan_, book_), buffers_(moves.size()) {
    plan_.spec = next.spec;
    plan_.recipe = next.recipe;
    plan_.platform = old.platform;
    plan_.strategy.name = kMigrateBody;
    for (std::uint32_t s = 0; s < old.platform.spaces.size(); ++s) {
      const Bytes bytes = larger_arena(old, next, SpaceId(s));
      if (bytes.count > 0) plan_.arenas.push_back({SpaceId(s), bytes});
    }
  }

  Plan write(const std::vector<MoveLeg>& legs, Gap staging, Bytes slot_bytes) {
    staging_ = staging;
    slot_bytes_ = slot_bytes;
    out_.begin_segment(kMigrateBody, 0, -1);
    out_.set_phase(Phase::kLoad);
    for (const MoveLeg& leg : legs) write(leg);
    order_conflicts(plan_, out_.body());
    plan_.bodies.push_back(fold(plan_, kMigrateBody, out_.body(), out_.segments()));
    return std::move(plan_);
  }

 private:
  /// Where a state lies before and after; made when first used.
  struct Ends {
    BufferId from;
    BufferId to;
  };

  void write(const MoveLeg& leg) {
    const StateMove& move = moves_[leg.move];
    Ends& ends = buffers_[leg.move];
    const auto from = [&] { return range(ends.from, move.from, move.name + ", before", leg); };
    const auto to = [&] { return range(ends.to, move.to, move.name + ", after", leg); };
    switch (leg.way) {
      case MoveLeg::Way::kStraight:
        return copy(from(), to());
      case MoveLeg::Way::kStage:
        return copy(from(), slot(leg, move.from));
      case MoveLeg::Way::kDeliver:
        return copy(slot(leg, move.to), to());
    }
  }

  /// Bytes that a leg moves at one end: of a drive whole blocks, as far as the buffer goes.
  [[nodiscard]] Bytes bytes_at(const StatePlace& end, const MoveLeg& leg) const {
    if (plan_.platform.at(end.space).kind != SpaceKind::kSsd) return leg.bytes;
    return std::min(align_up(leg.bytes, kStorageAlignment), end.room - leg.offset);
  }

  Range range(BufferId& buffer, const StatePlace& end, const std::string& name, const MoveLeg& leg) {
    const TensorKind kind = moves_[leg.move].category;
    if (!buffer.valid()) buffer = add_buffer(name, end.space, end.offset, end.room, kind);
    return {buffer, leg.offset, bytes_at(end, leg)};
  }

  /// What `end`'s memory exchanges with the leg's slot.
  Range slot(const MoveLeg& leg, const StatePlace& end) {
    if (slots_.size() <= leg.slot) slots_.resize(leg.slot + 1);
    BufferId& buffer = slots_[leg.slot];
    if (!buffer.valid()) {
      buffer = add_buffer(fmt::format("staging {}", leg.slot), places_.host, staging_.begin + slot_bytes_ * leg.slot,
                          slot_bytes_, TensorKind::kWorkspace);
    }
    return {buffer, Bytes(0), bytes_at(end, leg)};
  }

  BufferId add_buffer(std::string name, SpaceId space, Bytes offset, Bytes bytes, TensorKind category) {
    const BufferId id = book_.add({.name = std::move(name), .space = space, .bytes = bytes, .category = category});
    plan_.buffers[id.index].offset = offset;
    reserve(space, offset + bytes);
    return id;
  }

  void reserve(SpaceId space, Bytes bytes) {
    for (Arena& arena : plan_.arenas) {
      if (arena.space == space) {
        arena.bytes = std::max(arena.bytes, bytes);
        return;
      }
    }
    plan_.arenas.push_back({space, bytes});
  }

  void copy(const Range& from, const Range& to) {
    const SpaceId source = plan_.at(from.buffer).space;
    const SpaceId destination = plan_.at(to.buffer).space;
    if (source == places_.ssd) {
      out_.copy(*places_.ssd_read, InstructionKind::kRead, from, to);
    } else if (destination == places_.ssd) {
      out_.copy(*places_.ssd_write, InstructionKind::kWrite, from, to);
    } else {
      out_.copy(queue_between(source, destination), InstructionKind::kCopy, from, to);
    }
  }

  [[nodiscard]] QueueId queue_between(SpaceId source, SpaceId destination) const {
    if (source == destination) return source == places_.device ? places_.compute : places_.cpu;
    return source == places_.device ? places_.d2h : places_.h2d;
  }

  const std::vector<StateMove>& moves_;
  const Places& places_;
  Plan plan_;
  BufferBook book_;
  BodyWriter out_;
  std::vector<Ends> buffers_;  ///< by move
  std::vector<BufferId> slots_;
  Gap staging_;
  Bytes slot_bytes_;
};

/// The host's gaps between what holds old or new state, up to what is usable; the last one may reach beyond both arenas.
std::vector<Gap> gaps_of(const std::vector<StateMove>& moves, SpaceId host, Bytes usable) {
  std::vector<Gap> taken;
  for (const StateMove& move : moves) {
    for (const StatePlace& place : {move.from, move.to}) {
      if (place.space == host) taken.push_back({place.offset, place.offset + place.room});
    }
  }
  std::sort(taken.begin(), taken.end(), [](const Gap& a, const Gap& b) { return a.begin < b.begin; });
  std::vector<Gap> gaps;
  Bytes floor;
  for (const Gap& range : taken) {
    if (range.begin > floor) gaps.push_back({floor, range.begin});
    floor = std::max(floor, range.end);
  }
  gaps.push_back({floor, std::max(floor, usable)});
  for (Gap& gap : gaps) gap.begin = align_up(gap.begin, kStorageAlignment);
  return gaps;
}

/// A place for the staging area, `wanted` long or else as long as it can be: within `reserved` bytes if that is long enough.
Gap choose_gap(const std::vector<Gap>& gaps, Bytes reserved, Bytes wanted) {
  Gap best;
  for (const bool beyond : {false, true}) {
    for (Gap gap : gaps) {
      if (!beyond) gap.end = std::min(gap.end, reserved);
      if (gap.size() >= wanted) return {gap.begin, gap.begin + wanted};
      if (gap.size() > best.size()) best = gap;
    }
  }
  return best;
}

StagingArea divide(Bytes area, std::int64_t most_slots) {
  const std::int64_t blocks = area.count / kStorageAlignment.count;
  const std::int64_t slots = std::min(most_slots, blocks);
  if (slots <= 0) return {};
  return {static_cast<std::uint32_t>(slots), kStorageAlignment * (blocks / slots)};
}

/// Legs, and where they pass through.
struct Route {
  std::vector<MoveLeg> legs;
  Gap area;
  Bytes slot_bytes;
};

/// Long slots first, then many short ones, then a larger area.
Result<Route> find_route(const std::vector<StateMove>& moves, const std::vector<Gap>& gaps, Bytes reserved,
                         const MoveOptions& how, const MigrateOptions& options) {
  Gap area;
  for (Bytes wanted = options.leg * options.staged_legs;; wanted = wanted * 4) {
    area = choose_gap(gaps, reserved, wanted);
    for (const std::int64_t slots : {std::int64_t{options.staged_legs}, kManySlots}) {
      const StagingArea staging = divide(area.size(), slots);
      if (auto legs = sequence_moves(moves, staging, how)) return Route{std::move(*legs), area, staging.slot_bytes};
    }
    if (area.size() < wanted) break;
  }
  return fail({.kind = ErrorKind::kInfeasible,
               .what = fmt::format("the state cannot move to its new place: only {} of host memory are free to pass through",
                                   to_text(area.size())),
               .where = {},
               .remedy = "raise --ram a little, or leave the warm-up out: --warm-up-steps 0"});
}

Bytes moved_by(const std::vector<StateMove>& moves) {
  Bytes moved;
  for (const StateMove& move : moves) moved += move.stays() ? Bytes(0) : move.bytes;
  return moved;
}

Bytes staging_of(const Plan& plan) {
  Bytes staging;
  for (const Buffer& buffer : plan.buffers) staging += buffer.category == TensorKind::kWorkspace ? buffer.bytes : Bytes(0);
  return staging;
}

}  // namespace

Result<Migration> migrate_plan(const Plan& old, const Plan& next, std::int64_t steps_done, const MigrateOptions& options) {
  const auto moves = state_moves(old, next, steps_done);
  if (!moves) return fail(moves.error());
  const auto places = Places::find(old.platform, {});
  if (!places) return fail(places.error());
  MoveOptions how{.is_drive = {}, .largest_leg = options.leg};
  for (const MemorySpace& space : old.platform.spaces) how.is_drive.push_back(space.kind == SpaceKind::kSsd);
  const std::vector<Gap> gaps = gaps_of(*moves, places->host, old.platform.at(places->host).usable);
  const auto route = find_route(*moves, gaps, larger_arena(old, next, places->host), how, options);
  if (!route) return fail(route.error());
  Plan plan = MigrationWriter(old, next, *places, *moves).write(route->legs, route->area, route->slot_bytes);
  const Bytes staging = staging_of(plan);
  return Migration{.plan = std::move(plan), .moved = moved_by(*moves), .staging = staging};
}

}  // namespace plimsoll
