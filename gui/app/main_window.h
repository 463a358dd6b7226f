#pragma once

#include <QMainWindow>
#include <QSettings>
#include <QUndoStack>

#include <functional>
#include <memory>
#include <vector>

#include "gui/app/command_line.h"
#include "formats/exporters/export_target.h"
#include "gui/app/page.h"
#include "gui/jobs/engine_call.h"
#include "gui/jobs/latest_job.h"
#include "gui/language/language.h"

class QActionGroup;
class QStackedWidget;

namespace plimsoll::gui {

class PageRail;

/// The window: a rail of pages, menus, files that are dropped, and what is kept from one day to the next.
class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
  ~MainWindow() override;

  [[nodiscard]] const std::vector<Page*>& pages() const { return pages_; }
  /// The page of that name; null when the window has none.
  [[nodiscard]] Page* page(const QString& name) const;
  [[nodiscard]] Page* current_page() const;
  [[nodiscard]] const Theme& theme() const { return theme_; }
  [[nodiscard]] QUndoStack& undo_stack() { return undo_; }
  [[nodiscard]] const SharedPlan& plan() const { return plan_; }
  [[nodiscard]] QStringList recent_files() const;

  void show_page(const QString& name);
  void set_language(Language language);
  /// "light", "dark" or "system".
  void set_theme(const QString& name);
  /// Opens the file on the page that takes it, the current one first. A file that none takes is said in the status bar.
  bool open_file(const QString& path);
  /// Says an error in words; the window goes on.
  void report(const QString& title, const QString& text);
  /// What the window and its current page have to say against what was asked of them, one entry a problem.
  [[nodiscard]] QStringList problems() const;

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void add_pages(const WindowOptions& options);
  void restore(const WindowOptions& options);
  void retranslate();
  void build_menus();
  /// Writes a plan into a file of some format; returns notes about it.
  using WriteExport = std::function<Result<QStringList>(const PredictedPlan&, const QString&)>;

  void add_file_menu();
  void add_export_menu(QMenu& file);
  QAction* add_plan_export(QMenu& menu, const QString& text, const QString& name, const QString& kind, WriteExport write);
  void add_program_exports(QMenu& menu);
  void export_by_program(ExportTarget target, const QString& name, const QString& kind);
  void tell_of_program(int code, const QByteArray& output, const QByteArray& errors);
  void export_of_plan(const QString& name, const QString& kind, const WriteExport& write);
  QString ask_for_file(const QString& name, const QString& kinds);
  void tell_of(const Result<QStringList>& written, const QString& path);
  void tell_notes(const QString& title, const QStringList& notes);
  void add_view_menu();
  void add_help_menu();
  void remember_file(const QString& path);
  void choose_file();
  void show_keys();
  void show_about();

  std::unique_ptr<QSettings> settings_;
  QUndoStack undo_;
  Theme theme_;
  QString theme_name_ = QStringLiteral("system");
  bool desktop_dark_ = false;
  Language language_ = Language::kEnglish;
  Catalogue catalogue_;
  SharedPlan plan_;
  QStringList asked_;  ///< where the plimsoll program answered and there is no plan: what it was asked
  LatestJob export_job_;
  EngineCall export_call_;
  QString export_path_;  ///< that the program writes
  QString export_folder_;
  QStringList reported_;  ///< texts of the errors that were said
  PageRail* rail_;
  QStackedWidget* stack_;
  std::vector<Page*> pages_;
};

}  // namespace plimsoll::gui
