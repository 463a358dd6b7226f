#pragma once

#include <string_view>

#include "cli/options/stack_flags.h"
#include "core/base/result.h"

namespace plimsoll {

/// Whether the user typed that option of another program.
bool is_given(const StackFlags& flags, std::string_view name);

/// Refuses, by name, options that mean nothing without another one that is missing, or under this program: they would
/// be ignored.
Result<void> check_partner_options(const StackFlags& flags);

}  // namespace plimsoll
