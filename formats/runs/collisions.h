#pragma once

#include "formats/runs/answers.h"

namespace plimsoll {

/// Demands on one memory that are too much together; without any one of them there would be room.
struct CollisionAnswer {
  std::string space;
  Bytes usable;
  struct Demand {
    std::string what;
    Bytes bytes;
  };
  std::vector<Demand> demands;  ///< largest first
};

/// Why the plan answered with does not fit: for each memory that is short, the fewest of the demands at its fullest moment that
/// already collide. Demands are left out one by one, smallest first, as long as the rest still collides. None when it fits.
std::vector<CollisionAnswer> collisions_of(const FitAnswer& answer);

/// What would make it fit without another batch: more of the memories that one of the plans looked at is short of, least bytes
/// first; of plans that ask for as much of the same memories, the fastest.
std::vector<ChangeAnswer> memory_changes(const FitAnswer& answer);

/// Everything with which it would fit: what can be bought, a smaller micro-batch, and what the plans looked at are short of.
std::vector<ChangeAnswer> changes_of(const FitAnswer& answer);

}  // namespace plimsoll
