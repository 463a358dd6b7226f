#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QStatusBar>

#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"
#include "gui/export/write_exports.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"

namespace plimsoll::gui {

namespace {

/// Other programs, by the names that people call them.
struct Program {
  ExportTarget target;
  const char* name;
};
constexpr Program kPrograms[] = {{ExportTarget::kDeepspeed, "DeepSpeed"},
                                 {ExportTarget::kAccelerateDeepspeed, "accelerate (DeepSpeed)"},
                                 {ExportTarget::kAccelerateFsdp, "accelerate (FSDP)"},
                                 {ExportTarget::kAccelerateDdp, "accelerate (DDP)"},
                                 {ExportTarget::kFsdp2, "PyTorch FSDP2"},
                                 {ExportTarget::kTorchCheckpoint, "PyTorch checkpoint"},
                                 {ExportTarget::kMegatron, "Megatron-LM"},
                                 {ExportTarget::kGemini, "Colossal-AI Gemini"},
                                 {ExportTarget::kTorchtitan, "torchtitan"}};

QString words(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

}  // namespace

QAction* MainWindow::add_plan_export(QMenu& menu, const QString& text, const QString& name, const QString& kind,
                                     WriteExport write) {
  QAction* action = menu.addAction(text, this, [this, name, kind, write] { export_of_plan(name, kind, write); });
  action->setObjectName(QStringLiteral("export.") + name);
  action->setEnabled(plan_ != nullptr);
  return action;
}

void MainWindow::add_program_exports(QMenu& menu) {
  QMenu* programs = menu.addMenu(say("For other p&rograms"));
  programs->setObjectName("export.programs");
  programs->setEnabled(plan_ != nullptr || !asked_.isEmpty());
  for (const Program& program : kPrograms) {
    const QString ending = words(file_ending(program.target)), name = words(to_text(program.target)) + ending;
    const QString kind = say("Options (*%1)").arg(ending);
    QAction* action = programs->addAction(
        QString::fromUtf8(program.name) + QStringLiteral("…"), this, [this, target = program.target, name, kind] {
          if (!plan_) return export_by_program(target, name, kind);
          export_of_plan(name, kind, [target](const PredictedPlan& plan, const QString& path) {
            return export_program(plan, target, path);
          });
        });
    action->setObjectName(QStringLiteral("export.") + name);
  }
}

/// Of another program's setup, which is no plan of ours.
void MainWindow::export_by_program(ExportTarget target, const QString& name, const QString& kind) {
  const QStringList asked = asked_;
  export_path_ = ask_for_file(name, kind);
  if (export_path_.isEmpty()) return;
  export_call_.start(QStringList{"export"} + asked + QStringList{"--to", words(to_text(target)), "-o", export_path_});
}

void MainWindow::tell_of_program(int code, const QByteArray& /*output*/, const QByteArray& errors) {
  constexpr int kDone = 0, kDoesNotFit = 3;
  QStringList said;
  for (QString line : QString::fromUtf8(errors).split('\n', Qt::SkipEmptyParts)) {
    for (const char* mark : {"plimsoll: ", "note: "}) {
      if (line.startsWith(QLatin1String(mark))) line = line.mid(static_cast<qsizetype>(qstrlen(mark)));
    }
    if (!line.startsWith(QLatin1String("assumed: "))) said << line;
  }
  if (code != kDone && code != kDoesNotFit) {
    return report(say("Cannot export"), say_engine(said.join('\n').toStdString()));
  }
  tell_of(Result<QStringList>(said), export_path_);
}

void MainWindow::add_export_menu(QMenu& file) {
  QMenu* menu = file.addMenu(say("&Export"));
  add_plan_export(*menu, say("&Plan…"), "plan.json", say("Plan (*.json)"), export_plan)
      ->setShortcut(QKeySequence(QStringLiteral("Ctrl+E")));
  add_plan_export(*menu, say("&Strategy…"), "strategy.json", say("Strategy (*.json)"), export_strategy);
  add_plan_export(*menu, say("&Answer as JSON…"), "fit.json", say("Answer (*.json)"), export_answer);
  add_program_exports(*menu);
  menu->addSeparator();
  add_plan_export(*menu, say("Trace for &Chrome and Perfetto…"), "trace.json", say("Trace (*.json)"), export_trace);
  add_plan_export(*menu, say("Trace for Perfetto as proto&buf…"), "trace.pftrace", say("Trace (*.pftrace)"), export_perfetto);
  add_plan_export(*menu, say("Trace as CSV, an e&vent a row…"), "trace.csv", say("Table (*.csv)"), export_events);
  menu->addSeparator();
  for (const NamedTable& table : current_page() == nullptr ? std::vector<NamedTable>() : current_page()->tables()) {
    menu->addAction(say("Table \"%1\" as CSV…").arg(table.name), this, [this, table] {
      const QString path = ask_for_file(table.name + QStringLiteral(".csv"), say("Table (*.csv)"));
      if (!path.isEmpty()) tell_of(export_table(*table.model, path), path);
    });
  }
  menu->addAction(say("Picture of the page (PNG or SVG)…"), this, [this] {
    const QString path = ask_for_file(current_page()->name() + QStringLiteral(".png"), say("Pictures (*.png *.svg)"));
    if (!path.isEmpty()) tell_of(write_page(*current_page(), path).map([] { return QStringList(); }), path);
  })->setEnabled(current_page() != nullptr);
}

QString MainWindow::ask_for_file(const QString& name, const QString& kinds) {
  return QFileDialog::getSaveFileName(this, say("Export"), QDir(export_folder_).filePath(name), kinds);
}

void MainWindow::export_of_plan(const QString& name, const QString& kind, const WriteExport& write) {
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

void MainWindow::tell_of(const Result<QStringList>& written, const QString& path) {
  if (!written) return report(say("Cannot export"), say_engine(written.error().text()));
  export_folder_ = QFileInfo(path).absolutePath();
  statusBar()->showMessage(say("Wrote %1").arg(path));
  if (!written->isEmpty()) tell_notes(say("Wrote %1").arg(path), *written);
}

/// What another program is told approximately or not at all is never lost in silence.
void MainWindow::tell_notes(const QString& title, const QStringList& notes) {
  QString text;
  for (const QString& note : notes) text += QStringLiteral("• ") + say_engine(note.toStdString()) + '\n';
  auto* box = new QMessageBox(QMessageBox::Information, say("Export"), title, QMessageBox::Ok, this);
  box->setInformativeText(text.trimmed());
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName("notes");
  box->open();
}

}  // namespace plimsoll::gui
