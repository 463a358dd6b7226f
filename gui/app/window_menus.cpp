#include <QActionGroup>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>

#include "gui/app/main_window.h"
#include "gui/language/say.h"

namespace plimsoll::gui {

void MainWindow::build_menus() {
  menuBar()->clear();
  add_file_menu();
  QMenu* edit = menuBar()->addMenu(say("&Edit"));
  QAction* undo = undo_.createUndoAction(edit, say("Undo"));
  undo->setShortcut(QKeySequence::Undo);
  QAction* redo = undo_.createRedoAction(edit, say("Redo"));
  redo->setShortcut(QKeySequence::Redo);
  edit->addActions({undo, redo});
  add_view_menu();
  add_help_menu();
}

void MainWindow::add_file_menu() {
  QMenu* file = menuBar()->addMenu(say("&File"));
  file->addAction(say("&Open…"), QKeySequence::Open, this, &MainWindow::choose_file);
  QMenu* recent = file->addMenu(say("Open &recent"));
  for (const QString& path : recent_files()) {
    recent->addAction(QFileInfo(path).fileName(), this, [this, path] { open_file(path); })->setToolTip(path);
  }
  recent->setEnabled(!recent->isEmpty());
  add_export_menu(*file);
  file->addSeparator();
  file->addAction(say("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::add_view_menu() {
  QMenu* view = menuBar()->addMenu(say("&View"));
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const QKeySequence key(QStringLiteral("Ctrl+%1").arg(i + 1));
    view->addAction(pages_[i]->title(), key, this, [this, i] { show_page(pages_[i]->name()); });
  }
  view->addSeparator();
  QMenu* themes = view->addMenu(say("&Theme"));
  auto* themed = new QActionGroup(themes);
  for (const auto& [name, text] : {std::pair{"system", say("As the desktop")}, {"light", say("Light")}, {"dark", say("Dark")}}) {
    QAction* action = themes->addAction(text, this, [this, name = QString(name)] { set_theme(name); });
    action->setCheckable(true);
    action->setChecked(theme_name_ == QLatin1String(name));
    themed->addAction(action);
  }
  QMenu* languages = view->addMenu(say("&Language"));
  auto* spoken = new QActionGroup(languages);
  for (const auto& [language, text] : {std::pair{Language::kEnglish, "English"}, {Language::kChinese, "中文"}}) {
    QAction* action = languages->addAction(QString::fromUtf8(text), this, [this, language] { set_language(language); });
    action->setCheckable(true);
    action->setChecked(language_ == language);
    spoken->addAction(action);
  }
}

void MainWindow::add_help_menu() {
  QMenu* help = menuBar()->addMenu(say("&Help"));
  help->addAction(say("&Keys"), QKeySequence::HelpContents, this, &MainWindow::show_keys);
  help->addAction(say("&About Plimsoll"), this, &MainWindow::show_about);
}

void MainWindow::choose_file() {
  const QString path = QFileDialog::getOpenFileName(this, say("Open a model, training file, plan, run file or trace"));
  if (!path.isEmpty()) open_file(path);
}

void MainWindow::show_keys() {
  auto* box = new QMessageBox(QMessageBox::NoIcon, say("Keys"),
                              say("Ctrl+1 … Ctrl+5: pages\nCtrl+O: open a file\nCtrl+Z, Ctrl+Shift+Z: undo, redo\n"
                                  "Ctrl+E: export the plan\nTab, Shift+Tab: next, previous field\nEsc: stop the search\n"
                                  "On the timeline: W, S or the wheel: zoom; A, D or Shift and dragging: move; /: search;\n"
                                  ". ,: next, previous operation of a track; ] [: what waits for it, what it waited for\nF1: this list"),
                              QMessageBox::Ok, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

void MainWindow::show_about() {
  QMessageBox::about(this, say("About Plimsoll"),
                     say("Plimsoll %1\nWill this training fit, how fast, what limits it? And then it runs that very plan.")
                         .arg(QCoreApplication::applicationVersion()));
}

}  // namespace plimsoll::gui
