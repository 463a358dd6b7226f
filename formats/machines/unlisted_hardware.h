#pragma once

#include <string_view>

#include "core/base/error.h"

namespace plimsoll {

/// What a name means that is no board of the catalogue and never will be one: an accelerator without a memory of its
/// own in a slot, or of a maker whose software is not simulated.
struct UnlistedHardware {
  std::string_view what;     ///< "Apple's chips share one memory …"
  std::string_view nearest;  ///< a board of the catalogue that computes alike; empty: none does
};

/// Nothing for any other name.
const UnlistedHardware* find_unlisted_hardware(std::string_view name);

/// What a question about it is answered with.
Error refuse_unlisted(std::string_view name, const UnlistedHardware& hardware);

}  // namespace plimsoll
