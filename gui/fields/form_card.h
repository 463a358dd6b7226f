#pragma once

#include <QFrame>

#include <vector>

class QGridLayout;
class QLabel;

namespace plimsoll::gui {

/// A card with a heading and rows of a label and a field. Labels are given in English, marked with to_say.
class FormCard final : public QFrame {
  Q_OBJECT

 public:
  explicit FormCard(const char* heading, QWidget* parent = nullptr);

  void add(const char* label, QWidget* field);
  /// A field over the card's whole width.
  void add_wide(QWidget* field);
  /// Shows or hides a field with its label.
  void set_row_visible(QWidget* field, bool visible);
  void retranslate();

 private:
  struct Row {
    const char* english;
    QLabel* label;
    QWidget* field;
  };

  QGridLayout* grid_;
  const char* heading_text_;
  QLabel* heading_;
  std::vector<Row> rows_;
};

}  // namespace plimsoll::gui
