#include "gui/app/page.h"

#include <QPainter>

namespace plimsoll::gui {

bool Page::open_file(const QString& /*path*/) { return false; }

void Page::show_plan(const SharedPlan& /*plan*/) {}

void Page::paint_page(QPainter& painter, const QSize& area) {
  if (width() <= 0 || height() <= 0) return;
  painter.save();
  painter.scale(static_cast<double>(area.width()) / width(), static_cast<double>(area.height()) / height());
  render(&painter, QPoint(), QRegion(), QWidget::DrawWindowBackground | QWidget::DrawChildren);
  painter.restore();
}

}  // namespace plimsoll::gui
