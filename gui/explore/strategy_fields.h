#pragma once

#include <QWidget>

#include <vector>

#include "core/plan/strategy.h"

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QSpinBox;

namespace plimsoll::gui {

/// A strategy choice by choice.
class StrategyFields final : public QWidget {
  Q_OBJECT

 public:
  explicit StrategyFields(QWidget* parent = nullptr);

  void show_strategy(const Strategy& strategy);
  void retranslate();

 Q_SIGNALS:
  void changed(const plimsoll::Strategy& strategy);

 private:
  QComboBox* add_tier(Tier Strategy::*member);
  QSpinBox* add_count(std::int64_t Strategy::*member, int lowest);
  void add_row(const char* label, QWidget* field);
  void tell();

  Strategy strategy_;
  QGridLayout* grid_;
  struct Row {
    const char* english;
    QLabel* label;
    QWidget* field;
  };
  std::vector<Row> rows_;
  std::vector<std::pair<QComboBox*, Tier Strategy::*>> tiers_;
  std::vector<std::pair<QSpinBox*, std::int64_t Strategy::*>> counts_;
  QCheckBox* in_backward_;
  QCheckBox* breadth_first_;
};

}  // namespace plimsoll::gui
