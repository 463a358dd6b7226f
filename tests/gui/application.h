#pragma once

#include <QSignalSpy>
#include <QString>

#include <functional>
#include <memory>

#include "gui/app/main_window.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

/// Starts Qt without a screen, once; it lives until the process ends. Must be called before anything of Qt's widgets.
void start_qt();

/// Runs the event loop until the condition holds; false when that took longer than `seconds`.
bool wait_until(const std::function<bool()>& condition, int seconds = 300);

/// A window whose settings lie in the folder, with these options of the command line for the Explore page.
std::unique_ptr<gui::MainWindow> make_window(const TemporaryFolder& folder, const QHash<QString, QString>& choices = {});

/// Waits for the box in which the window reports, and gives its text; the box is closed.
QString reported(gui::MainWindow& window);

}  // namespace plimsoll::test
