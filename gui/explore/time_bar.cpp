#include "gui/explore/time_bar.h"

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <numeric>

#include "gui/explore/words.h"
#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr double kHeight = 14;
constexpr double kLeastShare = 1e-5;  ///< of the step; what rounding leaves is not told

}  // namespace

QString part_words(TimePart part) {
  switch (part) {
    case TimePart::kForward: return say("forward");
    case TimePart::kBackward: return say("backward");
    case TimePart::kOptimizer: return say("optimizer");
    case TimePart::kTransfer: return say("exposed transfers");
    case TimePart::kStorage: return say("exposed SSD traffic");
    case TimePart::kLoad: return say("loading data");
    case TimePart::kIdle: return say("idle");
  }
  return {};
}

TimeBar::TimeBar(QWidget* parent) : QWidget(parent), theme_(light_theme()) { setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed); }

void TimeBar::show_step(const StepBreakdown& step) {
  step_ = step;
  retranslate();
}

void TimeBar::apply_theme(const Theme& theme) {
  theme_ = theme;
  update();
}

void TimeBar::retranslate() {
  setAccessibleName(say("What the step's time goes into"));
  QStringList lines;
  for (const Part& part : parts()) lines << QStringLiteral("%1 %2").arg(part_words(part.part), seconds_text(to_seconds(part.time)));
  setAccessibleDescription(lines.join(QStringLiteral(", ")));
  update();
}

QSize TimeBar::sizeHint() const { return {480, static_cast<int>(kHeight) + 6 + fontMetrics().height() + 2}; }

std::vector<TimeBar::Part> TimeBar::parts() const {
  std::vector<Part> parts;
  const double whole = static_cast<double>(std::max<std::int64_t>(1, step_.duration.count));
  double x = 0;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    const Nanoseconds time = step_.parts[i];
    if (static_cast<double>(time.count) < kLeastShare * whole) continue;
    const double wide = width() * static_cast<double>(time.count) / whole;
    parts.push_back({static_cast<TimePart>(i), time, QRectF(x, 0, wide, kHeight)});
    x += wide;
  }
  return parts;
}

void TimeBar::paintEvent(QPaintEvent* /*event*/) {
  if (step_.duration.count <= 0) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath shape;
  shape.addRoundedRect(QRectF(0, 0, width(), kHeight), 4, 4);
  painter.save();
  painter.setClipPath(shape);
  for (const Part& part : parts()) painter.fillRect(part.area.adjusted(0, 0, part.area.width() > 3 ? -1 : 0, 0), theme_.part(part.part));
  painter.restore();
  paint_legend(painter);
}

void TimeBar::paint_legend(QPainter& painter) const {
  std::vector<Part> named = parts();
  const auto text_of = [](const Part& part) {
    return QStringLiteral("%1 %2").arg(part_words(part.part), seconds_text(to_seconds(part.time)));
  };
  const auto wide_of = [&](const Part& part) { return fontMetrics().horizontalAdvance(text_of(part)) + 32; };
  const auto needs = [&] {
    return std::accumulate(named.begin(), named.end(), -16, [&](int sum, const Part& part) { return sum + wide_of(part); });
  };
  while (named.size() > 1 && needs() > width()) {
    named.erase(std::min_element(named.begin(), named.end(), [](const Part& a, const Part& b) { return a.time < b.time; }));
  }
  double x = 0;
  for (const Part& part : named) {
    const QString text = text_of(part);
    const double wide = wide_of(part) - 16;
    painter.fillRect(QRectF(x, kHeight + 6 + fontMetrics().height() / 2.0 - 5, 10, 10), theme_.part(part.part));
    painter.setPen(theme_.faint_text);
    painter.drawText(QRectF(x + 16, kHeight + 6, wide, fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter, text);
    x += wide + 16;
  }
}

bool TimeBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (const Part& part : parts()) {
    if (!part.area.contains(help->pos())) continue;
    QToolTip::showText(help->globalPos(), QStringLiteral("%1: %2").arg(part_words(part.part), seconds_text(to_seconds(part.time))), this);
  }
  return true;
}

}  // namespace plimsoll::gui
