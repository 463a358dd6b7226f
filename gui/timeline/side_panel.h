#pragma once

#include <QWidget>

#include "gui/timeline/event_details.h"
#include "gui/timeline/statistics_model.h"

class QLabel;
class QTableView;

namespace plimsoll::gui {

/// What is known about the selected event or peak, and what the selected stretch of time holds.
class SidePanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SidePanel(QWidget* parent = nullptr);

  void show_details(const QString& title, const std::vector<DetailLine>& lines);
  /// Says how to select something.
  void show_nothing();
  void show_statistics(const QString& title, SharedTimeline timeline, SelectionStatistics statistics);
  void apply_theme(const Theme& theme);
  void retranslate();

  [[nodiscard]] StatisticsModel& model() { return *model_; }
  [[nodiscard]] QString details_text() const;

 private:
  void show_tracks(const SelectionStatistics& statistics, const Timeline& timeline);

  QLabel* title_;
  QLabel* details_;
  QLabel* range_title_;
  QLabel* tracks_;
  QTableView* table_;
  StatisticsModel* model_;
  Theme theme_;
  bool nothing_ = true;
};

}  // namespace plimsoll::gui
