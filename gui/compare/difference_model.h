#pragma once

#include <QAbstractTableModel>

#include <memory>

#include "gui/compare/compared_steps.h"
#include "gui/theme/theme.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {

using SharedSteps = std::shared_ptr<const ComparedSteps>;

/// What every operation, or every kind of operation, took in both steps. Qt::UserRole is a cell's value for sorting.
class DifferenceModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum class Rows { kClasses, kOps };
  enum Column { kName, kCountOrId, kFirst, kSecond, kDifference, kShare, kColumns };

  explicit DifferenceModel(Rows rows, QObject* parent = nullptr);

  void show_steps(SharedSteps steps);
  void apply_theme(const Theme& theme);
  void retranslate();
  /// The instruction of a row of operations.
  [[nodiscard]] std::uint32_t instruction(int row) const { return steps_->ops[static_cast<std::size_t>(row)].instruction; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Line {
    QString name;
    std::uint8_t paint = 0;
    qlonglong number = 0;        ///< how many in the first step, or the instruction's id
    qlonglong second_number = 0;  ///< how many in the second, or the same id
    std::int64_t first = 0;
    std::int64_t second = 0;
  };
  [[nodiscard]] Line line(int row) const;
  [[nodiscard]] QString text(const Line& line, int column) const;
  [[nodiscard]] QVariant value(const Line& line, int column) const;

  Rows rows_;
  SharedSteps steps_;
  Theme theme_;
  WorkColours colours_{};
};

}  // namespace plimsoll::gui
