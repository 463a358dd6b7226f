#pragma once

#include <QAbstractTableModel>

#include <vector>

#include "gui/explore/verdict.h"

namespace plimsoll::gui {

/// The plan that was chosen and the best of every other family, with why it was not.
class AlternativesModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kStrategy, kStep, kDevice, kWhy, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void show_verdict(const SharedVerdict& verdict);
  void retranslate();
  [[nodiscard]] const Strategy& strategy(int row) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString text(int row, int column) const;

  SharedVerdict verdict_;
};

/// Why another strategy was not taken: slower by so much, or short of so much.
QString why_not(const AlternativeAnswer& other, const FitAnswer& answer);

/// What a user could change so that the training fits or goes faster, best first; from what other families would need.
std::vector<QString> what_would_help(const FitAnswer& answer);

}  // namespace plimsoll::gui
