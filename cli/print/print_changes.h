#pragma once

#include <string>

#include "sim/answers/what_would_help.h"

namespace plimsoll {

/// The changes that help as a table for a person, the best first; of GPUs the best few unless all are asked for. Then those that
/// do not, by name.
std::string changes_text(const HelpAnswer& help, bool all);

/// All changes, one a row.
std::string changes_csv(const HelpAnswer& help);

/// Today's answer and all changes.
std::string changes_json(const HelpAnswer& help);

}  // namespace plimsoll
