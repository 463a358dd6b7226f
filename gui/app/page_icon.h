#pragma once

#include <QIcon>

#include "gui/theme/theme.h"

namespace plimsoll::gui {

/// The drawing that stands for a page, in the theme's colours; a plain ring for a page that has none.
QIcon page_icon(const QString& page, const Theme& theme);

/// The program's own mark: Plimsoll's circle with its line.
QIcon program_icon();

}  // namespace plimsoll::gui
