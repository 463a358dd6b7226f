#include "sim/planner/sequence_moves.h"

#include <algorithm>
#include <deque>

namespace plimsoll {
namespace {

/// A straight leg that would be shorter than this part of the largest leg goes through the staging area, if it can.
constexpr std::int64_t kWorthwhilePart = 16;

/// Half-open range of a state's bytes. Ends are multiples of kStorageAlignment, or the state's end.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

std::int64_t round_up(std::int64_t n) { return align_up(Bytes(n), kStorageAlignment).count; }
std::int64_t round_down(std::int64_t n) { return n / kStorageAlignment.count * kStorageAlignment.count; }

/// What is left of a move, and who may be in its way.
struct Progress {
  std::vector<Stretch> pending;        ///< not yet read from the old place; sorted
  std::vector<std::uint32_t> in_way;   ///< moves whose old bytes overlap the new place
};

/// A piece in a slot.
struct Staged {
  std::uint32_t move = 0;
  Stretch piece;
  std::uint32_t slot = 0;
};

class Sequencer {
 public:
  Sequencer(std::span<const StateMove> moves, const StagingArea& staging, const MoveOptions& options)
      : moves_(moves), options_(options), progress_(moves.size()), slot_bytes_(staging.slot_bytes.count) {
    for (std::uint32_t slot = 0; slot < staging.slots; ++slot) free_slots_.push_back(slot);
    for (std::uint32_t m = 0; m < moves.size(); ++m) {
      if (moves[m].stays() || moves[m].bytes.count == 0) continue;
      progress_[m].pending.push_back({0, moves[m].bytes.count});
      for (std::uint32_t other = 0; other < moves.size(); ++other) {
        if (meet(moves[other].from, moves[m].to)) progress_[m].in_way.push_back(other);
      }
    }
  }

  std::optional<std::vector<MoveLeg>> run() {
    while (deliver() || for_each_move(&Sequencer::advance) || for_each_move(&Sequencer::creep) || step_aside()) {
    }
    const bool done = staged_.empty() && std::all_of(progress_.begin(), progress_.end(),
                                                     [](const Progress& of) { return of.pending.empty(); });
    return done ? std::optional(std::move(legs_)) : std::nullopt;
  }

 private:
  static bool meet(const StatePlace& a, const StatePlace& b) {
    return a.space == b.space && a.offset < b.offset + b.room && b.offset < a.offset + a.room;
  }

  [[nodiscard]] bool on_drive(const StatePlace& place) const { return options_.is_drive[place.space.index]; }
  [[nodiscard]] bool goes_straight(std::uint32_t m) const { return !on_drive(moves_[m].from) && !on_drive(moves_[m].to); }

  /// Where bytes of a state lie in a space; a drive moves whole blocks, as far as the buffer goes.
  [[nodiscard]] Stretch at(const StatePlace& place, Stretch piece) const {
    const std::int64_t end = on_drive(place) ? std::min(round_up(piece.end), place.room.count) : piece.end;
    return {place.offset.count + piece.begin, place.offset.count + end};
  }

  /// The longest part of `piece` (of move m) whose new place holds nothing that is still to be read. What is read of
  /// `piece` itself counts unless `aside`.
  [[nodiscard]] Stretch longest_free(std::uint32_t m, Stretch piece, bool aside) const {
    std::vector<Stretch> taken;
    const Stretch target = at(moves_[m].to, piece);
    for (const std::uint32_t other : progress_[m].in_way) {
      for (const Stretch& pending : progress_[other].pending) {
        const Stretch source = at(moves_[other].from, pending);
        if (source.begin >= target.end || target.begin >= source.end) continue;
        if (aside && other == m) {
          add_outside(taken, source, at(moves_[m].from, piece));
        } else {
          taken.push_back(source);
        }
      }
    }
    return longest_gap(taken, m, piece);
  }

  /// What of `source` lies outside `own`.
  static void add_outside(std::vector<Stretch>& taken, Stretch source, Stretch own) {
    if (source.begin < own.begin) taken.push_back({source.begin, std::min(source.end, own.begin)});
    if (source.end > own.end) taken.push_back({std::max(source.begin, own.end), source.end});
  }

  /// In whole blocks of the state.
  [[nodiscard]] Stretch longest_gap(std::vector<Stretch>& taken, std::uint32_t m, Stretch piece) const {
    std::sort(taken.begin(), taken.end(), [](Stretch a, Stretch b) { return a.begin < b.begin; });
    const std::int64_t base = moves_[m].to.offset.count;
    const std::int64_t whole = at(moves_[m].to, piece).end - base;
    Stretch best;
    std::int64_t floor = piece.begin;
    const auto consider = [&](std::int64_t end) {
      const Stretch gap{round_up(floor), end >= whole ? piece.end : round_down(end)};
      if (gap.size() > best.size()) best = gap;
    };
    for (const Stretch& range : taken) {
      consider(range.begin - base);
      floor = std::max(floor, range.end - base);
    }
    consider(whole);
    return best;
  }

  bool deliver() {
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      const Staged& waiting = staged_[i];
      if (longest_free(waiting.move, waiting.piece, false).size() != waiting.piece.size()) continue;
      add(MoveLeg::Way::kDeliver, waiting.move, waiting.piece, waiting.slot);
      free_slots_.push_back(waiting.slot);
      staged_.erase(staged_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  /// Tries the moves in turn, beginning with the one that went on last.
  bool for_each_move(bool (Sequencer::*attempt)(std::uint32_t)) {
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const std::size_t m = (last_ + i) % moves_.size();
      if (progress_[m].pending.empty() || !(this->*attempt)(static_cast<std::uint32_t>(m))) continue;
      last_ = m;
      return true;
    }
    return false;
  }

  /// A leg worth its while: straight, or through a slot to where it can be delivered at once.
  bool advance(std::uint32_t m) {
    for (const Stretch pending : progress_[m].pending) {
      if (goes_straight(m)) {
        const Stretch free = cut(m, longest_free(m, pending, false), options_.largest_leg.count);
        if (free.size() * kWorthwhilePart >= std::min(pending.size() * kWorthwhilePart, options_.largest_leg.count)) {
          return go_straight(m, free);
        }
      }
      if (free_slots_.empty()) continue;
      const Stretch tip = cut(m, pending, slot_bytes_);
      if (longest_free(m, tip, true).size() == tip.size()) return stage(m, tip);
      const Stretch free = goes_straight(m) ? Stretch{} : cut(m, longest_free(m, pending, false), slot_bytes_);
      if (free.size() > 0) return stage(m, free);
    }
    return false;
  }

  /// Any straight leg.
  bool creep(std::uint32_t m) {
    for (const Stretch pending : progress_[m].pending) {
      if (!goes_straight(m)) continue;
      const Stretch free = cut(m, longest_free(m, pending, false), options_.largest_leg.count);
      if (free.size() > 0) return go_straight(m, free);
    }
    return false;
  }

  /// Nothing can move. Of all blocks at the ends of what is pending, the one that the fewest others' blocks are in the way
  /// of shall be next: the first of those steps aside, and what follows it as far as the slot holds.
  bool step_aside() {
    if (free_slots_.empty()) return false;
    std::vector<Staged> fewest;
    for (std::uint32_t m = 0; m < moves_.size(); ++m) {
      for (const Stretch& pending : progress_[m].pending) {
        const std::int64_t first_end = std::min(pending.begin + kStorageAlignment.count, pending.end);
        const std::int64_t last_begin = round_down(pending.end - 1);
        for (const Stretch block : {Stretch{pending.begin, first_end}, Stretch{last_begin, pending.end}}) {
          std::vector<Staged> found = others_in_way(m, block);
          if (!found.empty() && (fewest.empty() || found.size() < fewest.size())) fewest = std::move(found);
        }
      }
    }
    if (fewest.empty()) return false;
    return stage(fewest.front().move, fewest.front().piece);
  }

  /// Pending pieces of other moves, each as long as a slot holds, over the new place of a block of move m.
  [[nodiscard]] std::vector<Staged> others_in_way(std::uint32_t m, Stretch block) const {
    std::vector<Staged> found;
    const Stretch target = at(moves_[m].to, block);
    for (const std::uint32_t other : progress_[m].in_way) {
      if (other == m) continue;
      const std::int64_t base = moves_[other].from.offset.count;
      for (const Stretch& pending : progress_[other].pending) {
        const Stretch source = at(moves_[other].from, pending);
        if (source.begin >= target.end || target.begin >= source.end) continue;
        std::int64_t begin = std::max(pending.begin, round_down(std::max<std::int64_t>(0, target.begin - base)));
        for (; begin < pending.end && begin < target.end - base; begin += slot_bytes_) {
          found.push_back({other, {begin, std::min(pending.end, begin + slot_bytes_)}, 0});
        }
      }
    }
    return found;
  }

  /// At most `most` bytes of a stretch: of its end when the state moves up in one memory, else of its beginning, so that
  /// the rest does not wait for its own bytes.
  [[nodiscard]] Stretch cut(std::uint32_t m, Stretch whole, std::int64_t most) const {
    if (whole.size() <= most) return whole;
    const bool up = moves_[m].from.space == moves_[m].to.space && moves_[m].to.offset > moves_[m].from.offset;
    if (up) return {round_up(whole.end - most), whole.end};
    return {whole.begin, whole.begin + most};
  }

  bool go_straight(std::uint32_t m, Stretch piece) {
    take(m, piece);
    add(MoveLeg::Way::kStraight, m, piece, 0);
    return true;
  }

  bool stage(std::uint32_t m, Stretch piece) {
    const std::uint32_t slot = free_slots_.front();  // the one that was left longest ago
    free_slots_.pop_front();
    take(m, piece);
    staged_.push_back({m, piece, slot});
    add(MoveLeg::Way::kStage, m, piece, slot);
    return true;
  }

  void take(std::uint32_t m, Stretch piece) {
    std::vector<Stretch> left;
    for (const Stretch& pending : progress_[m].pending) {
      const Stretch parts[] = {{pending.begin, std::min(pending.end, piece.begin)},
                               {std::max(pending.begin, piece.end), pending.end}};
      for (const Stretch& part : parts) {
        if (part.size() > 0) left.push_back(part);
      }
    }
    progress_[m].pending = std::move(left);
  }

  void add(MoveLeg::Way way, std::uint32_t m, Stretch piece, std::uint32_t slot) {
    legs_.push_back({way, m, Bytes(piece.begin), Bytes(piece.size()), slot});
  }

  std::span<const StateMove> moves_;
  const MoveOptions& options_;
  std::vector<Progress> progress_;
  std::int64_t slot_bytes_;
  std::deque<std::uint32_t> free_slots_;
  std::vector<Staged> staged_;
  std::vector<MoveLeg> legs_;
  std::size_t last_ = 0;
};

}  // namespace

std::optional<std::vector<MoveLeg>> sequence_moves(std::span<const StateMove> moves, const StagingArea& staging,
                                                   const MoveOptions& options) {
  return Sequencer(moves, staging, options).run();
}

}  // namespace plimsoll
