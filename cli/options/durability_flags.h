#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/plan/durability.h"

namespace plimsoll {

/// --durability and --save-every, as typed.
struct DurabilityFlags {
  std::string durability;  ///< empty: checkpoint where --save-every is given, else none
  std::int64_t save_every = 0;
};

void add_durability_flags(CLI::App& command, DurabilityFlags& flags);

/// What they ask for together. Errors name the option.
Result<Safety> read_safety(const DurabilityFlags& flags);

}  // namespace plimsoll
