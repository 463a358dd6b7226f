#pragma once

#include <QTemporaryDir>
#include <QTimer>

#include <memory>

#include "gui/app/page.h"
#include "gui/explore/choices.h"
#include "gui/explore/own_computer.h"
#include "gui/explore/verdict.h"
#include "gui/jobs/engine_call.h"
#include "gui/jobs/latest_job.h"

class QHBoxLayout;
class QLabel;
class QPushButton;
class QSplitter;
class QTabWidget;
class QTableView;
class QTextBrowser;
class QVBoxLayout;

namespace plimsoll::gui {

class AlternativesModel;
class ChoiceForm;
class LoadLine;
class Scatter;
class VerdictCard;

/// Will it fit, how fast, and what limits it: choices at the left, the answer at the right, a new one after every change.
class ExplorePage final : public Page {
  Q_OBJECT

 public:
  explicit ExplorePage(const PageContext& context);
  ~ExplorePage() override;

  [[nodiscard]] QString name() const override { return QStringLiteral("explore"); }
  [[nodiscard]] QString title() const override;
  void retranslate() override;
  void apply_theme(const Theme& theme) override;
  bool open_file(const QString& path) override;
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] QString problem() const override { return problem_; }
  [[nodiscard]] std::vector<NamedTable> tables() const override;

  [[nodiscard]] const Choices& choices() const { return choices_; }
  /// The last verdict; null before the first, and where there is none.
  [[nodiscard]] const SharedVerdict& verdict() const { return verdict_; }
  [[nodiscard]] VerdictCard* card() const { return card_; }
  [[nodiscard]] Scatter* scatter() const { return scatter_; }
  /// Makes other choices as a step that can be undone; `what` names the field.
  void choose(const Choices& choices, const QString& what);
  /// Shows and works out these choices. For the undo stack.
  void set_choices(const Choices& choices);

 Q_SIGNALS:
  /// Told for a first look and again for the full answer.
  void verdictShown(bool searched);

 private:
  QWidget* make_left();
  QWidget* make_right();
  QWidget* make_charts();
  QWidget* make_details();
  void connect_parts();
  void replan();
  void start_job();
  void ask_program(const Choices& asked);
  void take_told(int code, const QByteArray& output, const QByteArray& errors);
  void show_over_time();
  void cancel_search();
  void take(const Result<SharedVerdict>& verdict);
  void show_verdict();
  void show_notes();
  void show_help();
  void take_name(const QString& link);
  /// False: not a training file by its name.
  bool open_training_file(const QString& path);
  void choose_strategy(const Strategy& strategy);
  void browse();

  const PageContext context_;
  Choices choices_;
  Choices asked_;  ///< what the program is asked for them: under PyTorch where plimsoll has no kernels
  SharedVerdict verdict_;
  QString problem_;  ///< of the last choices, where they have no verdict
  QTimer pause_;  ///< between a change and the work for it
  LatestJob job_;
  OwnComputerQuestion own_;
  EngineCall program_;    ///< answers for other programs and for layouts
  EngineCall over_time_;  ///< writes such a step as a run file
  ChoiceForm* form_;
  VerdictCard* card_;
  LoadLine* load_line_;
  QLabel* load_heading_;
  Scatter* scatter_;
  QLabel* scatter_heading_;
  QTabWidget* details_;
  AlternativesModel* alternatives_;
  QTableView* table_;
  QTextBrowser* help_;
  QTextBrowser* notes_;
  QPushButton* over_time_button_;
  QTemporaryDir folder_;  ///< of run files that are shown over time
};

std::unique_ptr<Page> make_explore_page(const PageContext& context);

}  // namespace plimsoll::gui
