#pragma once

#include <QAbstractTableModel>
#include <QDateTime>

#include <vector>

#include "gui/jobs/latest_job.h"

namespace plimsoll::gui {

/// A run file in a line.
struct RunSummary {
  QString path;
  QDateTime changed;
  qint64 bytes = 0;
  QString problem;  ///< why it cannot be read; empty: it can
  QString model;
  QString strategy;
  std::int64_t steps = 0;
  double last_loss = 0;
  double step_seconds = 0;       ///< median of what was measured
  double predicted_seconds = 0;  ///< 0: nothing was predicted
  bool finished = false;
};

/// Reads what the list shows of a run file; a damaged one has a problem instead.
RunSummary summarize_run(const QString& path);

/// The run files of a folder, newest first; read in the background.
class RunsModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kFile, kModel, kStrategy, kSteps, kLoss, kStep, kPredicted, kState, kColumns };

  explicit RunsModel(QObject* parent = nullptr);

  /// Looks at a folder again.
  void look(const QString& folder);
  void retranslate();
  [[nodiscard]] const std::vector<RunSummary>& runs() const { return runs_; }
  [[nodiscard]] bool busy() const { return job_.busy(); }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void show_runs(std::vector<RunSummary> runs);
  [[nodiscard]] QString text(const RunSummary& run, int column) const;

  std::vector<RunSummary> runs_;
  LatestJob job_;
};

}  // namespace plimsoll::gui
