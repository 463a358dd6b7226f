#include "gui/explore/load_line.h"

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "gui/explore/load_line_layout.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr double kMargin = 2;
constexpr double kBarHeight = 26;
constexpr double kMarkRoom = 16;  ///< above and below a bar for the mark's circle
constexpr double kGap = 8;
constexpr double kApart = 14;  ///< between the words of a row
constexpr double kRadius = 5;
constexpr std::array kCategories{"parameters", "gradients", "optimizer", "activations", "workspace", "slack", "framework"};

std::vector<const char*> shown_categories(const std::vector<SpaceAnswer>& memory) {
  std::set<std::string_view> present;
  for (const SpaceAnswer& space : memory) {
    const LoadLineLayout layout = lay_out_load_line(space, QRectF(0, 0, 1, 1));
    for (const auto& segment : layout.segments) present.insert(segment.category);
    if (!layout.unusable.isEmpty()) present.insert("framework");
  }
  std::vector<const char*> shown;
  std::copy_if(kCategories.begin(), kCategories.end(), std::back_inserter(shown), [&](const char* name) { return present.count(name) > 0; });
  return shown;
}

QFont demi_bold(QFont font) {
  font.setWeight(QFont::DemiBold);
  return font;
}

QString margin_words(const SpaceAnswer& space) {
  return space.margin() >= Bytes(0) ? say("%1 free").arg(bytes_text(space.margin())) : say("short by %1").arg(bytes_text(space.peak - space.usable));
}

QString need_words(const SpaceAnswer& space, bool in_words) {
  const QString form = in_words ? say("needs %1 of %2 usable") : QStringLiteral("%1 / %2");
  return form.arg(bytes_text(space.peak), bytes_text(space.usable));
}

double title_height(const QWidget& widget) { return widget.fontMetrics().height() + 4; }

}  // namespace

LoadLine::LoadLine(QWidget* parent) : QWidget(parent), theme_(light_theme()) {
  setFocusPolicy(Qt::TabFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Minimum);
}

void LoadLine::show_memory(std::vector<SpaceAnswer> memory) {
  const bool resized = memory.size() != memory_.size();
  memory_ = std::move(memory);
  describe();
  if (resized) updateGeometry();
  update();
}

void LoadLine::apply_theme(const Theme& theme) {
  theme_ = theme;
  update();
}

void LoadLine::retranslate() {
  describe();
  update();
}

/// What a screen reader says.
void LoadLine::describe() {
  setAccessibleName(say("Load line"));
  QStringList lines;
  for (const SpaceAnswer& space : memory_) {
    lines << say("%1: needs %2 of %3 usable").arg(space_words(space.space), bytes_text(space.peak), bytes_text(space.usable));
  }
  setAccessibleDescription(lines.join(QStringLiteral(". ")));
}

QSize LoadLine::sizeHint() const {
  const std::size_t rows = std::max<std::size_t>(memory_.size(), 2);
  const double row = title_height(*this) + kBarHeight + kMarkRoom + kGap;
  return {520, static_cast<int>(static_cast<double>(rows) * row + 2 * title_height(*this) + 2 * kMargin)};
}

QSize LoadLine::minimumSizeHint() const { return {320, sizeHint().height()}; }

LoadLine::Row LoadLine::row(std::size_t index) const {
  const double height = title_height(*this) + kBarHeight + kMarkRoom + kGap;
  const double top = kMargin + static_cast<double>(index) * height;
  const double inner = width() - 2 * kMargin;
  return {.title = QRectF(kMargin, top, inner, title_height(*this)),
          .bar = QRectF(kMargin, top + title_height(*this) + kMarkRoom / 2, inner, kBarHeight)};
}

void LoadLine::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool in_words = says_needs_in_words();
  for (std::size_t i = 0; i < memory_.size(); ++i) paint_row(painter, i, in_words);
  if (!memory_.empty()) paint_legend(painter, row(memory_.size()).title.top());
  if (!hasFocus()) return;
  painter.setPen(QPen(theme_.accent, 1, Qt::DotLine));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

QRectF LoadLine::need_room(std::size_t index) const {
  const QFontMetricsF bold(demi_bold(font()));
  const SpaceAnswer& space = memory_[index];
  return row(index).title.adjusted(bold.horizontalAdvance(space_words(space.space)) + kApart, 0,
                                   -bold.horizontalAdvance(margin_words(space)) - kApart, 0);
}

bool LoadLine::says_needs_in_words() const {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (QFontMetricsF(font()).horizontalAdvance(need_words(memory_[i], true)) > need_room(i).width()) return false;
  }
  return true;
}

void LoadLine::paint_row(QPainter& painter, std::size_t index, bool in_words) const {
  const SpaceAnswer& space = memory_[index];
  const Row place = row(index);
  painter.setFont(demi_bold(font()));
  painter.setPen(theme_.text);
  painter.drawText(place.title, Qt::AlignLeft | Qt::AlignVCenter, space_words(space.space));
  painter.setPen(space.margin() >= Bytes(0) ? theme_.good : theme_.bad);
  painter.drawText(place.title, Qt::AlignRight | Qt::AlignVCenter, margin_words(space));
  painter.setFont(font());
  painter.setPen(theme_.faint_text);
  const QRectF room = need_room(index);
  const QString need = need_words(space, in_words);
  if (QFontMetricsF(font()).horizontalAdvance(need) <= room.width()) painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, need);
  paint_bar(painter, space, place.bar);
}

void LoadLine::paint_bar(QPainter& painter, const SpaceAnswer& space, const QRectF& bar) const {
  const LoadLineLayout layout = lay_out_load_line(space, bar);
  QPainterPath shape;
  shape.addRoundedRect(bar, kRadius, kRadius);
  painter.save();
  painter.setClipPath(shape);
  painter.fillRect(bar, theme_.raised);
  if (!layout.unusable.isEmpty()) painter.fillRect(layout.unusable, QBrush(theme_.faint_text, Qt::BDiagPattern));
  for (const auto& segment : layout.segments) {
    const QRectF area = segment.area.adjusted(0, 0, segment.area.width() > 3 ? -1 : 0, 0);
    const bool slack = segment.category == "slack";
    painter.fillRect(area, slack ? QBrush(theme_.faint_text, Qt::Dense6Pattern) : QBrush(theme_.category(segment.category)));
  }
  if (!layout.overflow.isEmpty()) {
    painter.fillRect(layout.overflow, QBrush(theme_.bad, Qt::FDiagPattern));
  }
  painter.restore();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(layout.overflow.isEmpty() ? theme_.border : theme_.bad, 1));
  painter.drawRoundedRect(bar, kRadius, kRadius);
  paint_mark(painter, std::clamp(layout.mark, bar.left() + 1, bar.right() - 1), bar);
}

/// The mark stands on its side: the line through the circle is where the memory is full.
void LoadLine::paint_mark(QPainter& painter, double x, const QRectF& bar) const {
  const double reach = kMarkRoom / 2 - 1;
  painter.setPen(QPen(theme_.panel, 5));
  painter.drawLine(QPointF(x, bar.top()), QPointF(x, bar.bottom()));
  painter.setPen(QPen(theme_.text, 2));
  painter.drawLine(QPointF(x, bar.top() - reach), QPointF(x, bar.bottom() + reach));
  const double radius = 6;
  const QPointF centre(std::clamp(x, bar.left() + radius, bar.right() - radius), bar.center().y());
  painter.setBrush(theme_.panel);
  painter.drawEllipse(centre, radius, radius);
  painter.setBrush(Qt::NoBrush);
  painter.drawLine(QPointF(x, bar.top()), QPointF(x, bar.bottom()));
}

/// The categories that a bar has; a second line takes what the first has no room for.
void LoadLine::paint_legend(QPainter& painter, double top) const {
  double x = kMargin;
  const QFontMetricsF metrics(font());
  for (const char* category : shown_categories(memory_)) {
    const QString words = category_words(category);
    const double wide = 16 + metrics.horizontalAdvance(words) + 14;
    if (x + wide - 14 > width() - kMargin) x = kMargin, top += title_height(*this);
    const QRectF swatch(x, top + title_height(*this) / 2 - 5, 10, 10);
    const bool slack = QLatin1String(category) == QLatin1String("slack"), unusable = QLatin1String(category) == QLatin1String("framework");
    painter.fillRect(swatch, unusable || slack ? theme_.raised : theme_.category(category));
    if (slack) painter.fillRect(swatch, QBrush(theme_.faint_text, Qt::Dense6Pattern));
    if (unusable) painter.fillRect(swatch, QBrush(theme_.faint_text, Qt::BDiagPattern));
    painter.setPen(theme_.faint_text);
    painter.drawText(QRectF(x + 16, top, wide, title_height(*this)), Qt::AlignLeft | Qt::AlignVCenter, words);
    x += wide;
  }
}

QString LoadLine::tip_at(const QPointF& point) const {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Row place = row(i);
    if (!place.bar.contains(point)) continue;
    const LoadLineLayout layout = lay_out_load_line(memory_[i], place.bar);
    for (const auto& segment : layout.segments) {
      if (segment.area.contains(point)) return QStringLiteral("%1: %2").arg(category_words(segment.category), bytes_text(segment.bytes));
    }
    if (layout.unusable.contains(point)) {
      return say("%1 taken by context, driver, operating system").arg(bytes_text(memory_[i].capacity - memory_[i].usable));
    }
    return say("%1 free").arg(bytes_text(memory_[i].margin()));
  }
  return {};
}

bool LoadLine::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), tip_at(help->pos()), this);
  return true;
}

}  // namespace plimsoll::gui
