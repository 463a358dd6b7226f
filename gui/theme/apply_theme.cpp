#include "gui/theme/apply_theme.h"

#include <QApplication>
#include <QPalette>
#include <QStyleFactory>

namespace plimsoll::gui {
namespace {

QPalette palette_of(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.panel);
  palette.setColor(QPalette::AlternateBase, theme.window);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::Button, theme.panel);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.bad);
  palette.setColor(QPalette::PlaceholderText, theme.faint_text);
  palette.setColor(QPalette::ToolTipBase, theme.raised);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.dark ? theme.window : QColor(Qt::white));
  palette.setColor(QPalette::Link, theme.accent);
  palette.setColor(QPalette::Light, theme.raised);
  palette.setColor(QPalette::Midlight, theme.border);
  palette.setColor(QPalette::Mid, theme.border);
  palette.setColor(QPalette::Dark, theme.border);
  palette.setColor(QPalette::Shadow, theme.border);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    QColor disabled = theme.faint_text;
    disabled.setAlphaF(0.7F);
    palette.setColor(QPalette::Disabled, role, disabled);
  }
  return palette;
}

QString sheet_of(const Theme& theme) {
  QString sheet = QStringLiteral(
      "QFrame[card=\"true\"] { background: @panel; border: 1px solid @border; border-radius: 8px; }"
      "QLabel[quiet=\"true\"] { color: @faint; }"
      "QLabel[heading=\"true\"] { font-weight: 600; }"
      "QToolTip { color: @text; background: @raised; border: 1px solid @border; padding: 4px; }"
      "QToolButton[rail=\"true\"] { border: none; border-radius: 8px; padding: 6px 2px; color: @faint; background: transparent; }"
      "QToolButton[rail=\"true\"]:hover { background: @raised; color: @text; }"
      "QToolButton[rail=\"true\"]:checked { background: @raised; color: @accent; font-weight: 600; }"
      "QToolButton[rail=\"true\"]:focus { border: 2px solid @accent; }"
      "QWidget[rail=\"bar\"] { background: @panel; border-right: 1px solid @border; }"
      "QHeaderView::section { background: @panel; color: @faint; border: none; border-bottom: 1px solid @border; padding: 4px 4px; }"
      "QTableView { background: @panel; alternate-background-color: @window; selection-background-color: @raised; }"
      "QTableView::item { padding: 0 4px; }"
      "QTableView::item:selected { background: @raised; color: @text; }"
      "QTabBar::tab { padding: 6px 12px; color: @faint; background: transparent; border: none; border-bottom: 2px solid transparent; }"
      "QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }"
      "QTabBar::tab:focus { color: @accent; }"
      "QTabWidget::pane { border: none; }"
      "QTextBrowser { background: @panel; }"
      "QPushButton { padding: 3px 10px; }"
      "QScrollArea { background: transparent; border: none; }"
      "QSplitter::handle { background: transparent; }");
  const auto put = [&](const char* name, const QColor& color) { sheet.replace(QLatin1String(name), color.name()); };
  put("@panel", theme.panel);
  put("@window", theme.window);
  put("@border", theme.border);
  put("@faint", theme.faint_text);
  put("@text", theme.text);
  put("@raised", theme.raised);
  put("@accent", theme.accent);
  return sheet;
}

}  // namespace

void apply_theme(QApplication& application, const Theme& theme) {
  application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  application.setPalette(palette_of(theme));
  application.setStyleSheet(sheet_of(theme));
}

bool desktop_is_dark(const QApplication& application) { return application.palette().window().color().lightness() < 128; }

}  // namespace plimsoll::gui
