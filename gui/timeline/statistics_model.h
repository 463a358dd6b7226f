#pragma once

#include <QAbstractTableModel>

#include "gui/theme/theme.h"
#include "gui/timeline/selection_statistics.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {

/// What a range of a timeline holds, a line a name.
class StatisticsModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kCount, kTotal, kShare, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void show_range(SharedTimeline timeline, SelectionStatistics statistics);
  void apply_theme(const Theme& theme);
  void retranslate();
  [[nodiscard]] const SelectionStatistics& statistics() const { return statistics_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString text(const NameStatistics& line, int column) const;

  SharedTimeline timeline_;
  SelectionStatistics statistics_;
  WorkColours colours_{};
};

}  // namespace plimsoll::gui
