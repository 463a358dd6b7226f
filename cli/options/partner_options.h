#pragma once

#include "cli/options/stack_flags.h"
#include "core/base/result.h"

namespace plimsoll {

/// Refuses, by name, options that mean nothing without another one that is missing, or under this program: they would
/// be ignored.
Result<void> check_partner_options(const StackFlags& flags);

}  // namespace plimsoll
