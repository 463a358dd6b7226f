#pragma once

#include <QButtonGroup>
#include <QFrame>

#include <vector>

#include "gui/theme/theme.h"

class QToolButton;
class QVBoxLayout;

namespace plimsoll::gui {

/// The column of buttons at the window's left edge, one a page.
class PageRail final : public QFrame {
  Q_OBJECT

 public:
  explicit PageRail(QWidget* parent = nullptr);

  void add(const QString& name);
  void set_titles(const std::vector<QString>& titles);
  void apply_theme(const Theme& theme);
  void show_page(int index);

 Q_SIGNALS:
  void chosen(int index);

 private:
  QVBoxLayout* column_;
  QButtonGroup group_;
  std::vector<QToolButton*> buttons_;
  std::vector<QString> names_;
};

}  // namespace plimsoll::gui
