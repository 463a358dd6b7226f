#include "gui/app/page_icon.h"

#include <QPainter>
#include <QPixmap>

namespace plimsoll::gui {
namespace {

constexpr int kSide = 24;   ///< of the grid that icons are drawn on
constexpr int kScale = 4;   ///< pixels of a grid unit: enough for a screen with four pixels a point

void draw_mark(QPainter& painter) {
  painter.drawEllipse(QRectF(6, 6, 12, 12));
  painter.drawLine(QPointF(2, 12), QPointF(22, 12));
}

void draw_timeline(QPainter& painter) {
  painter.drawLine(QPointF(3, 6), QPointF(13, 6));
  painter.drawLine(QPointF(8, 12), QPointF(20, 12));
  painter.drawLine(QPointF(5, 18), QPointF(11, 18));
  painter.drawLine(QPointF(15, 18), QPointF(21, 18));
}

void draw_compare(QPainter& painter) {
  painter.drawPolyline(QPolygonF({{3, 17}, {9, 9}, {14, 13}, {21, 5}}));
  QPen dotted = painter.pen();
  dotted.setStyle(Qt::DotLine);
  painter.setPen(dotted);
  painter.drawPolyline(QPolygonF({{3, 20}, {9, 14}, {14, 16}, {21, 11}}));
}

void draw_run(QPainter& painter) { painter.drawPolygon(QPolygonF({{7, 4}, {20, 12}, {7, 20}})); }

void draw_pipelines(QPainter& painter) {
  for (int row = 0; row < 3; ++row) {
    painter.drawRect(QRectF(3 + 4 * row, 3 + 7 * row, 5, 4));
    painter.drawRect(QRectF(10 + 4 * row, 3 + 7 * row, 3, 4));
  }
}

void draw(QPainter& painter, const QString& page) {
  if (page == QLatin1String("timeline")) return draw_timeline(painter);
  if (page == QLatin1String("compare")) return draw_compare(painter);
  if (page == QLatin1String("run")) return draw_run(painter);
  if (page == QLatin1String("pipelines")) return draw_pipelines(painter);
  draw_mark(painter);
}

QPixmap drawn(const QString& page, const QColor& color) {
  QPixmap pixmap(kSide * kScale, kSide * kScale);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(kScale, kScale);
  painter.setPen(QPen(color, 2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  draw(painter, page);
  return pixmap;
}

}  // namespace

QIcon page_icon(const QString& page, const Theme& theme) {
  QIcon icon;
  icon.addPixmap(drawn(page, theme.faint_text), QIcon::Normal, QIcon::Off);
  icon.addPixmap(drawn(page, theme.accent), QIcon::Normal, QIcon::On);
  icon.addPixmap(drawn(page, theme.text), QIcon::Active, QIcon::Off);
  return icon;
}

QIcon program_icon() { return QIcon(drawn(QStringLiteral("explore"), QColor("#0b66b5"))); }

}  // namespace plimsoll::gui
