#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <vector>

#include "gui/app/predicted_plan.h"
#include "gui/theme/theme.h"

class QAbstractItemModel;
class QUndoStack;

namespace plimsoll::gui {

/// What a page is given when it is made; all of it outlives the page.
struct PageContext {
  QUndoStack& undo;           ///< every choice of a user is a command on it
  const Theme& theme;         ///< of the moment; apply_theme tells of another one
  QString engine;             ///< path of the plimsoll program, for what needs hardware; empty: there is none
  QHash<QString, QString> choices;  ///< of the command line, by the names of fit's options
};

/// A table that can be written as CSV.
struct NamedTable {
  QString name;  ///< "alternatives": part of the file's name
  const QAbstractItemModel* model = nullptr;
};

/// One page of the window. All is called from the window's thread, and nothing there may take longer than 50 ms.
class Page : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// "explore": what --page and the settings call it; never translated.
  [[nodiscard]] virtual QString name() const = 0;
  /// What the rail calls it, in the window's language.
  [[nodiscard]] virtual QString title() const = 0;
  /// Sets all texts again after the language changed; called once after the page was made, too.
  virtual void retranslate() = 0;
  /// Takes the colours of a theme that the program was just given; called once after the page was made, too.
  virtual void apply_theme(const Theme& theme) = 0;
  /// Opens a file that was dropped, chosen or named on the command line; false: not a file for this page.
  virtual bool open_file(const QString& path);
  /// The same for the page that is shown: what others take, too, may be meant for it.
  virtual bool open_here(const QString& path) { return open_file(path); }
  /// The plan of the Explore page is another one now; null when there is none.
  virtual void show_plan(const SharedPlan& plan);
  /// Begins what the page's main button begins; nothing where it has none.
  virtual void begin() {}
  /// Whether something is being worked out that will change what is shown (a screenshot waits for it).
  [[nodiscard]] virtual bool busy() const { return false; }
  /// Why the page cannot show what was asked of it, in words; empty while it can.
  [[nodiscard]] virtual QString problem() const { return {}; }
  /// What can be exported as CSV.
  [[nodiscard]] virtual std::vector<NamedTable> tables() const { return {}; }
  /// Draws what the page shows, for PNG and SVG; `area` is in the painter's logical pixels.
  virtual void paint_page(QPainter& painter, const QSize& area);

 Q_SIGNALS:
  /// A line for the status bar.
  void said(const QString& text);
  /// Something went wrong; the window says it in words and goes on.
  void failed(const QString& title, const QString& text);
  /// Another plan was found or chosen; null where there is none, or where the plimsoll program answered to `asked`, options
  /// of `fit` (empty: nobody did).
  void planChosen(const plimsoll::gui::SharedPlan& plan, const QStringList& asked);
  /// Asks the window to open a file on the page of that name ("compare") and to show it.
  void openRequested(const QString& page, const QString& path);
};

}  // namespace plimsoll::gui
