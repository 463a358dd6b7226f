#pragma once

#include <QString>

#include "core/base/result.h"

namespace plimsoll::gui {

class MainWindow;
class Page;

/// Writes what the page shows; the file's ending says how: .svg, else .png (two pixels a point).
Result<void> write_page(Page& page, const QString& path);

/// Shows the window, waits until its page is not busy any more, and writes all of it. Errors: the file cannot be written,
/// or the page is busy for longer than ten minutes.
Result<void> take_screenshot(MainWindow& window, const QString& path);

}  // namespace plimsoll::gui
