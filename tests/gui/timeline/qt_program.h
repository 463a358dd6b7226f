#pragma once

#include <QApplication>
#include <QElapsedTimer>

#include <functional>

namespace plimsoll::test {

/// Qt without a screen, started once; it lives as long as the process.
inline void begin_qt() {
  static int count = 1;
  static char name[] = "test";
  static char* arguments[] = {name, nullptr};
  static QApplication* const application = new QApplication(count, arguments);
  static_cast<void>(application);
}

/// Runs the event loop until the condition holds; false when that took longer than `seconds`.
inline bool comes_true(const std::function<bool()>& condition, int seconds = 300) {
  QElapsedTimer clock;
  clock.start();
  while (!condition()) {
    if (clock.elapsed() > 1000LL * seconds) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
  }
  return true;
}

}  // namespace plimsoll::test
