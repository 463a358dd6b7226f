#pragma once

#include <QString>

#include "gui/explore/verdict.h"

namespace plimsoll::gui {

/// What would help, one paragraph a hint, as rich text.
QString help_text(const Verdict& verdict);

/// Where the numbers are from and what was assumed, as rich text; `file_notes` are of the training file that was asked about.
QString origin_text(const Verdict& verdict, const QStringList& file_notes);

}  // namespace plimsoll::gui
