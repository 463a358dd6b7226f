#pragma once

#include <QByteArray>

#include "core/base/result.h"
#include "gui/explore/verdict.h"

namespace plimsoll::gui {

/// What `plimsoll fit … --json` answered to these choices, as a verdict without a plan of ours. An answer of another
/// version is refused by the key that it lacks. `fell_back` is the verdict's.
Result<SharedVerdict> read_told(const QByteArray& json, const Choices& choices, bool fell_back = false);

}  // namespace plimsoll::gui
