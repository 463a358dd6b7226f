#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QStatusBar>

#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"
#include "gui/export/write_exports.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"

namespace plimsoll::gui {

void MainWindow::add_export_menu(QMenu& file) {
  QMenu* menu = file.addMenu(say("&Export"));
  using Write = Result<void> (*)(const PredictedPlan&, const QString&);
  const auto add = [&](const QString& text, const QString& name, const QString& kind, Write write) {
    QAction* action = menu->addAction(text, this, [this, name, kind, write] { export_of_plan(name, kind, write); });
    action->setObjectName(QStringLiteral("export.") + name);
    action->setEnabled(plan_ != nullptr);
    return action;
  };
  add(say("&Plan…"), "plan.json", say("Plan (*.json)"), export_plan)->setShortcut(QKeySequence(QStringLiteral("Ctrl+E")));
  add(say("&Strategy…"), "strategy.json", say("Strategy (*.json)"), export_strategy);
  add(say("Trace for &Chrome and Perfetto…"), "trace.json", say("Trace (*.json)"), export_trace);
  add(say("&Answer as JSON…"), "fit.json", say("Answer (*.json)"), export_answer);
  menu->addSeparator();
  for (const NamedTable& table : current_page() == nullptr ? std::vector<NamedTable>() : current_page()->tables()) {
    menu->addAction(say("Table \"%1\" as CSV…").arg(table.name), this, [this, table] {
      const QString path = ask_for_file(table.name + QStringLiteral(".csv"), say("Table (*.csv)"));
      if (!path.isEmpty()) tell_of(export_table(*table.model, path), path);
    });
  }
  menu->addAction(say("Picture of the page (PNG or SVG)…"), this, [this] {
    const QString path = ask_for_file(current_page()->name() + QStringLiteral(".png"), say("Pictures (*.png *.svg)"));
    if (!path.isEmpty()) tell_of(write_page(*current_page(), path), path);
  })->setEnabled(current_page() != nullptr);
}

QString MainWindow::ask_for_file(const QString& name, const QString& kinds) {
  return QFileDialog::getSaveFileName(this, say("Export"), QDir(export_folder_).filePath(name), kinds);
}

void MainWindow::export_of_plan(const QString& name, const QString& kind, Result<void> (*write)(const PredictedPlan&, const QString&)) {
  const SharedPlan plan = plan_;
  if (!plan) return;
  const QString path = ask_for_file(name, kind);
  if (path.isEmpty()) return;
  statusBar()->showMessage(say("Writing %1…").arg(path));
  export_job_.start([this, plan, path, write](const Stop&, const LatestJob::Deliver& deliver) {
    const auto written = write(*plan, path);
    deliver([this, written, path] { tell_of(written, path); });
  });
}

void MainWindow::tell_of(const Result<void>& written, const QString& path) {
  if (!written) return report(say("Cannot export"), say_engine(written.error().text()));
  export_folder_ = QFileInfo(path).absolutePath();
  statusBar()->showMessage(say("Wrote %1").arg(path));
}

}  // namespace plimsoll::gui
