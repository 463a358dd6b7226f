#pragma once

class QApplication;

#include "gui/theme/theme.h"

namespace plimsoll::gui {

/// Gives the whole program the theme's palette and the few shapes that the palette does not decide (cards, the rail).
void apply_theme(QApplication& application, const Theme& theme);

/// True when the desktop's own palette is a dark one; asked before the first apply_theme.
bool desktop_is_dark(const QApplication& application);

}  // namespace plimsoll::gui
