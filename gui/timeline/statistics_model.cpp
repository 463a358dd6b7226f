#include "gui/timeline/statistics_model.h"

#include <QColor>
#include <QLocale>

#include <algorithm>

#include "gui/language/say.h"
#include "gui/timeline/time_ticks.h"

namespace plimsoll::gui {

void StatisticsModel::show_range(SharedTimeline timeline, SelectionStatistics statistics) {
  beginResetModel();
  timeline_ = std::move(timeline);
  statistics_ = std::move(statistics);
  endResetModel();
}

void StatisticsModel::apply_theme(const Theme& theme) {
  colours_ = work_colours(theme);
  retranslate();
}

void StatisticsModel::retranslate() {
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
  Q_EMIT headerDataChanged(Qt::Horizontal, 0, kColumns - 1);
}

int StatisticsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(statistics_.names.size());
}

int StatisticsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString StatisticsModel::text(const NameStatistics& line, int column) const {
  switch (column) {
    case kName: return QString::fromStdString(timeline_->names[line.name]);
    case kCount: return QLocale().toString(static_cast<qulonglong>(line.count));
    case kTotal: return QString::fromStdString(duration_text(static_cast<double>(line.total)));
    default: {
      const double share = static_cast<double>(line.total) / std::max(statistics_.end - statistics_.begin, 1.0);
      return QLocale().toString(100 * share, 'f', 1) + QStringLiteral(" %");
    }
  }
}

QVariant StatisticsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const NameStatistics& line = statistics_.names[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) return text(line, index.column());
  if (role == Qt::DecorationRole && index.column() == kName) return QColor::fromRgb(colours_[line.paint]);
  if (role == Qt::TextAlignmentRole && index.column() != kName) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((section == kName ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName: return say("Work");
    case kCount: return say("Count");
    case kTotal: return say("Total");
    default: return say("Load");
  }
}

}  // namespace plimsoll::gui
