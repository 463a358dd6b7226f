#pragma once

#include <cstdint>

namespace plimsoll {

/// What is evicted first when a program's memory is full: the storage of the least score. DTR's own heuristics
/// (Kirisame et al., ICLR 2021) are rules of this form, and so are those that know what comes.
struct EvictionRule {
  enum class Cost : std::uint8_t {
    kNone,       ///< 1
    kOwn,        ///< seconds of the operators that write it
    kAncestors,  ///< and of all evicted ones from which it is made (MSPS)
    kBoth,       ///< and of all evicted ones that are made from it (DTR)
    kClasses,    ///< and of the classes of evicted neighbours, which grow by union and never split (DTR-eq)
  };
  enum class Age : std::uint8_t {
    kNone,         ///< not asked
    kStale,        ///< divided by the time since it was read
    kAhead,        ///< divided by the time until it is read next, which an online rule cannot know
    kLeastRecent,  ///< the moment of its last reading is the score, and nothing else (LRU)
  };
  Cost cost = Cost::kOwn;
  Age age = Age::kStale;
  bool by_size = true;     ///< divided by its bytes
  bool eager = true;       ///< what the program has let go is evicted at once
  double disturb = 0;      ///< scores are multiplied by up to exp of this, either way
  std::uint32_t seed = 0;  ///< of these factors
};

}  // namespace plimsoll
