#pragma once

#include <optional>
#include <string>

#include "core/base/quantity.h"

namespace plimsoll {

/// Bytes that this process may still map under its limit of address space (`ulimit -v`, RLIMIT_AS); nothing where it
/// has none, or the kernel does not say. `root` stands before /proc, for tests.
std::optional<Bytes> address_space_left(const std::string& root = "");

}  // namespace plimsoll
