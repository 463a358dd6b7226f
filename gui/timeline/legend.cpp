#include "gui/timeline/legend.h"

#include <QPainter>

#include <algorithm>
#include <array>

#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {
namespace {

constexpr int kSwatch = 11;
constexpr int kGap = 18;
constexpr int kLine = 20;
constexpr int kHeading = 62;

/// States that any chunk of a strip is ever in.
void add_places(const std::vector<SharedTimeline>& timelines, const Theme& theme, std::vector<LegendEntry>& entries) {
  if (timelines.size() != 1 || timelines.front()->strips.empty()) return;
  std::array<bool, kPlaceStates> seen{};
  for (const PlaceStrip& strip : timelines.front()->strips) {
    for (const EventLane& lane : strip.lanes) {
      for (std::size_t i = 0; i < lane.size(); ++i) seen[lane.label(i)] = true;
    }
  }
  const PlaceColours colours = place_colours(theme);
  entries.push_back({QColor(), say("Blocks")});
  for (std::size_t state = 0; state < kPlaceStates; ++state) {
    if (seen[state]) entries.push_back({QColor::fromRgb(colours[state]), place_name(static_cast<PlaceState>(state))});
  }
}

}  // namespace

std::vector<LegendEntry> legend_entries(const std::vector<SharedTimeline>& timelines, const Theme& theme) {
  std::array<bool, kWorkClasses> works{};
  std::array<bool, kCurveParts> parts{};
  for (const SharedTimeline& timeline : timelines) {
    for (const TimelineLabel& label : timeline->labels) works[static_cast<std::size_t>(work_of_paint(label.paint))] = true;
    for (const MemoryCurve& curve : timeline->curves) {
      for (std::size_t part = 0; part < kCurveParts; ++part) parts[part] = parts[part] || curve.has(static_cast<CurvePart>(part));
    }
  }
  const WorkColours colours = work_colours(theme);
  std::vector<LegendEntry> entries{{QColor(), say("Work")}};
  for (std::size_t work = 0; work < kWorkClasses; ++work) {
    if (works[work]) entries.push_back({QColor::fromRgb(colours[work * kWorkTones]), work_name(static_cast<WorkClass>(work))});
  }
  if (std::find(parts.begin(), parts.end(), true) != parts.end()) entries.push_back({QColor(), say("Memory")});
  for (std::size_t part = 0; part < kCurveParts; ++part) {
    const char* const name = name_of(static_cast<CurvePart>(part));
    if (parts[part]) entries.push_back({theme.category(name), category_words(name)});
  }
  add_places(timelines, theme, entries);
  return entries;
}

void LegendBar::show_entries(std::vector<LegendEntry> entries) {
  entries_ = std::move(entries);
  updateGeometry();
  update();
}

std::vector<QPoint> LegendBar::places(int width, int& height) const {
  std::vector<QPoint> found;
  QPoint at(0, 0);
  for (const LegendEntry& entry : entries_) {
    const bool heading = !entry.colour.isValid();
    const int taken = heading ? kHeading : kSwatch + 6 + fontMetrics().horizontalAdvance(entry.text) + kGap;
    if (heading && !found.empty()) at = QPoint(0, at.y() + kLine);
    if (at.x() > kHeading && at.x() + taken - kGap > width) at = QPoint(kHeading, at.y() + kLine);
    found.push_back(at);
    at.rx() += taken;
  }
  height = at.y() + kLine;
  return found;
}

QSize LegendBar::sizeHint() const { return {400, heightForWidth(width())}; }

int LegendBar::heightForWidth(int width) const {
  int height = 0;
  static_cast<void>(places(width, height));
  return height;
}

void LegendBar::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  int height = 0;
  const std::vector<QPoint> at = places(width(), height);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].colour.isValid()) {
      painter.setPen(palette().color(QPalette::PlaceholderText));
      painter.drawText(QRect(at[i], QSize(kHeading, kLine)), Qt::AlignLeft | Qt::AlignVCenter, entries_[i].text);
      continue;
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(entries_[i].colour);
    painter.drawRoundedRect(QRect(at[i] + QPoint(0, (kLine - kSwatch) / 2), QSize(kSwatch, kSwatch)), 2, 2);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(at[i] + QPoint(kSwatch + 6, 0), QSize(fontMetrics().horizontalAdvance(entries_[i].text) + 4, kLine)),
                     Qt::AlignLeft | Qt::AlignVCenter, entries_[i].text);
  }
}

}  // namespace plimsoll::gui
