#pragma once

#include <QMainWindow>
#include <QSettings>
#include <QUndoStack>

#include <memory>
#include <vector>

#include "gui/app/command_line.h"
#include "gui/app/page.h"
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
  void add_file_menu();
  void add_export_menu(QMenu& file);
  void export_of_plan(const QString& name, const QString& kind, Result<void> (*write)(const PredictedPlan&, const QString&));
  QString ask_for_file(const QString& name, const QString& kinds);
  void tell_of(const Result<void>& written, const QString& path);
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
  LatestJob export_job_;
  QString export_folder_;
  QStringList reported_;  ///< texts of the errors that were said
  PageRail* rail_;
  QStackedWidget* stack_;
  std::vector<Page*> pages_;
};

}  // namespace plimsoll::gui
