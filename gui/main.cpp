#include <QApplication>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/error.h"
#include "gui/app/command_line.h"
#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"

namespace {

int ended(const plimsoll::Error& error) {
  std::fprintf(stderr, "plimsoll-gui: %s%s%s\n", error.where.c_str(), error.where.empty() ? "" : ": ", error.what.c_str());
  if (!error.remedy.empty()) std::fprintf(stderr, "  %s\n", error.remedy.c_str());
  return error.kind == plimsoll::ErrorKind::kInput ? 2 : 4;
}

/// A picture of a problem is a picture; a script learns of it here.
int told_of(const QStringList& problems) {
  for (const QString& problem : problems) std::fprintf(stderr, "plimsoll-gui: %s\n", qUtf8Printable(problem));
  return problems.isEmpty() ? 0 : 2;
}

bool connects(const std::string& path, bool abstract) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::size_t first = abstract ? 1 : 0;
  if (path.size() + first >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path + first, path.size());
  const int handle = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return false;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + first + path.size());
  const bool there = ::connect(handle, reinterpret_cast<const sockaddr*>(&address), length) == 0;
  ::close(handle);
  return there;
}

/// Whether anybody answers at an X display of this computer (":0"); of another computer's display Qt finds out itself.
bool answers(const std::string& display) {
  if (display.empty() || display.front() != ':') return !display.empty();
  const std::string path = "/tmp/.X11-unix/X" + display.substr(1, display.find('.') - 1);
  return connects(path, true) || connects(path, false);
}

/// Without a screen a picture can still be taken, help printed, and anything else refused in words.
void choose_platform(int argc, char** argv) {
  const bool no_screen = qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") && !answers(qgetenv("DISPLAY").toStdString());
  if (!no_screen || !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) return;
  for (int i = 1; i < argc; ++i) {
    const QByteArray argument(argv[i]);
    if (argument.startsWith("--screenshot") || argument == "--help" || argument == "-h" || argument == "--version") {
      qputenv("QT_QPA_PLATFORM", "offscreen");
      return;
    }
  }
  const QByteArray display = qgetenv("DISPLAY");
  const char* const silent = display.isEmpty() ? "" : ": nobody answers at DISPLAY=";
  std::fprintf(stderr, "plimsoll-gui: there is no display%s%s\n", silent, display.constData());
  std::fputs("  start it on a desktop, set QT_QPA_PLATFORM=vnc, or take a picture with --screenshot FILE\n", stderr);
  std::exit(4);
}

}  // namespace

int main(int argc, char** argv) {
  choose_platform(argc, argv);
  QApplication application(argc, argv);
  QApplication::setApplicationName("plimsoll");
  QApplication::setApplicationVersion(PLIMSOLL_VERSION);
  const auto options = plimsoll::gui::read_command_line(QApplication::arguments(), PLIMSOLL_VERSION);
  if (!options) return ended(options.error());
  plimsoll::gui::MainWindow window(*options);
  if (!options->page.isEmpty() && window.page(options->page) == nullptr) {
    return ended({.kind = plimsoll::ErrorKind::kInput,
                  .what = "there is no page '" + options->page.toStdString() + "'",
                  .where = {},
                  .remedy = "plimsoll-gui --help lists the pages"});
  }
  if (options->screenshot.isEmpty()) {
    window.show();
    return QApplication::exec();
  }
  const auto taken = plimsoll::gui::take_screenshot(window, options->screenshot);
  return taken ? told_of(window.problems()) : ended(taken.error());
}
