#include "tests/gui/application.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QMessageBox>

#include <memory>

namespace plimsoll::test {

void start_qt() {
  static const bool started = [] {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("PATH", QByteArray(PLIMSOLL_PROGRAM_FOLDER) + ":" + qgetenv("PATH"));
    static int count = 1;
    static char name[] = "gui_test";
    static char* arguments[] = {name, nullptr};
    new QApplication(count, arguments);  // lives as long as the process: widgets of static life would outlive it
    return true;
  }();
  (void)started;
}

bool wait_until(const std::function<bool()>& condition, int seconds) {
  QElapsedTimer clock;
  clock.start();
  while (!condition()) {
    if (clock.elapsed() > 1000LL * seconds) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
  }
  return true;
}

std::unique_ptr<gui::MainWindow> make_window(const TemporaryFolder& folder, const QHash<QString, QString>& choices) {
  start_qt();
  gui::WindowOptions options{.choices = choices, .language = gui::Language::kEnglish, .theme = QStringLiteral("light")};
  options.settings = QString::fromStdString(folder.file("settings.ini"));
  options.size = QSize(1440, 900);
  auto window = std::make_unique<gui::MainWindow>(options);
  window->show();
  return window;
}

QString reported(gui::MainWindow& window) {
  QMessageBox* box = nullptr;
  if (!wait_until([&] { return (box = window.findChild<QMessageBox*>("report")) != nullptr; })) return {};
  const QString text = box->text();
  delete box;
  return text;
}

}  // namespace plimsoll::test
