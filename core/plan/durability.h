#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// What of a training outlives the death of the process, or of the computer's power.
enum class Durability : std::uint8_t {
  kNone,        ///< nothing before its end: the state is in memory and scratch files
  kCheckpoint,  ///< the state of every so many steps
  kStep,        ///< the state of every step: at most the running one is lost
};

std::string_view to_text(Durability durability);
Result<Durability> parse_durability(std::string_view text);

/// How safe a training is.
struct Safety {
  Durability durability = Durability::kNone;
  std::int64_t every = 0;  ///< steps between checkpoints; 0: only in the end
};

/// How often checkpoints are written when nobody says it.
inline constexpr std::int64_t kUsualSaveEvery = 100;

}  // namespace plimsoll
