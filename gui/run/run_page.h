#pragma once

#include <memory>
#include <vector>

#include "gui/app/page.h"
#include "gui/run/run_choices.h"
#include "gui/run/run_process.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QTableView;

namespace plimsoll::gui {

class LineChart;
class RunForm;
class RunsModel;

/// Trains by running the plimsoll program, and watches it: loss, step time against the prediction, memory. Beneath, the run
/// files of the folder.
class RunPage final : public Page {
  Q_OBJECT

 public:
  explicit RunPage(const PageContext& context);
  ~RunPage() override;

  [[nodiscard]] QString name() const override { return QStringLiteral("run"); }
  [[nodiscard]] QString title() const override;
  void retranslate() override;
  void apply_theme(const Theme& theme) override;
  bool open_file(const QString& path) override;
  void show_plan(const SharedPlan& plan) override;
  void begin() override { start(); }
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] std::vector<NamedTable> tables() const override;

  [[nodiscard]] const RunChoices& choices() const { return choices_; }
  void choose(const RunChoices& choices, const QString& what);
  /// For the undo stack.
  void set_choices(const RunChoices& choices);
  [[nodiscard]] const RunProcess& process() const { return process_; }
  [[nodiscard]] QString status() const;
  [[nodiscard]] const LineChart& loss_chart() const { return *loss_; }

  void start();
  void stop();

 Q_SIGNALS:
  void runEnded(const plimsoll::gui::RunEnd& end);

 private:
  QWidget* make_left();
  QWidget* make_right();
  QWidget* make_live_card();
  QWidget* make_list_card();
  void connect_parts();
  void take(const ProgressLine& line);
  void take_plan(const PlanLine& plan);
  void take_step(const StepLine& step);
  void take_end(const RunEnd& end);
  void show_throughput();
  void name_runs();
  void show_buttons();
  void take_from_explore();
  void open_run(int row);

  const PageContext context_;
  RunChoices choices_;
  RunProcess process_;
  SharedPlan explored_;
  PlanLine predicted_;
  std::vector<double> step_seconds_;  ///< of the run that is watched
  RunForm* form_;
  QPushButton* start_;
  QPushButton* stop_;
  QPushButton* from_explore_;
  QPushButton* compare_;
  QLabel* status_;
  QLabel* throughput_;
  QProgressBar* progress_;
  LineChart* loss_;
  LineChart* time_;
  LineChart* memory_;
  QLabel* runs_heading_;
  RunsModel* runs_;
  QTableView* table_;
};

std::unique_ptr<Page> make_run_page(const PageContext& context);

}  // namespace plimsoll::gui
