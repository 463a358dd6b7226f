#include "gui/app/screenshot.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QImage>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>

#include <algorithm>

#include "gui/app/main_window.h"

namespace plimsoll::gui {
namespace {

constexpr qint64 kLongestWaitMilliseconds = 600'000;
constexpr int kQuietMilliseconds = 300;  ///< in which layouts and started work settle
constexpr double kPixelsAPoint = 2;
constexpr int kSmallest = 0;  ///< of PNG's compressions

tl::unexpected<Error> unwritten(const QString& path, const QString& why) {
  return fail({.kind = ErrorKind::kEnvironment, .what = "the picture cannot be written: " + why.toStdString(),
               .where = path.toStdString(), .remedy = "choose a folder that can be written"});
}

void wait(int milliseconds) {
  QElapsedTimer clock;
  clock.start();
  while (clock.elapsed() < milliseconds)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::AllEvents, 20);
}

template <typename Draw>
Result<void> write_png(const QString& path, const QSize& size, double ratio, const Draw& draw) {
  QImage image(size * ratio, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  QPainter painter(&image);
  draw(painter);
  painter.end();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || !image.save(&file, "PNG", kSmallest) || !file.commit())
    return unwritten(path, file.errorString());
  return {};
}

template <typename Draw>
Result<void> write_svg(const QString& path, const QSize& size, const Draw& draw) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return unwritten(path, file.errorString());
  QSvgGenerator generator;
  generator.setOutputDevice(&file);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle(QStringLiteral("Plimsoll"));
  QPainter painter(&generator);
  draw(painter);
  painter.end();
  if (!file.commit()) return unwritten(path, file.errorString());
  return {};
}

}  // namespace

Result<void> write_page(Page& page, const QString& path) {
  const auto draw = [&](QPainter& painter) { page.paint_page(painter, page.size()); };
  if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) return write_svg(path, page.size(), draw);
  return write_png(path, page.size(), kPixelsAPoint, draw);
}

Result<void> take_screenshot(MainWindow& window, const QString& path) {
  window.show();
  QElapsedTimer clock;
  clock.start();
  const auto is_busy = [](Page* page) { return page->busy(); };  // one page's work may feed another
  const auto busy = [&] { return std::any_of(window.pages().begin(), window.pages().end(), is_busy); };
  do {
    wait(kQuietMilliseconds);
    if (clock.elapsed() > kLongestWaitMilliseconds) return unwritten(path, QStringLiteral("the page was busy for ten minutes"));
  } while (busy());
  wait(kQuietMilliseconds);
  const auto draw = [&](QPainter& painter) { window.render(&painter); };
  if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) return write_svg(path, window.size(), draw);
  return write_png(path, window.size(), window.devicePixelRatioF(), draw);
}

}  // namespace plimsoll::gui
