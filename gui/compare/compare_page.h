#pragma once

#include "gui/app/page.h"
#include "gui/compare/difference_model.h"
#include "gui/jobs/latest_job.h"
#include "gui/timeline/timeline_page.h"

class QSortFilterProxyModel;
class QTableView;
class QTabWidget;

namespace plimsoll::gui {

class SplitChart;
struct SceneEvent;

/// Two traces on one axis: predicted and measured, or any two runs. Those of one plan are matched instruction by instruction.
class ComparePage final : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(QWidget* parent = nullptr);

  [[nodiscard]] QString name() const override { return QStringLiteral("compare"); }
  [[nodiscard]] QString title() const override;
  void retranslate() override;
  void apply_theme(const Theme& theme) override;
  bool open_file(const QString& path) override;
  [[nodiscard]] bool busy() const override { return job_->busy() || reading_->busy(); }
  [[nodiscard]] std::vector<NamedTable> tables() const override;

  /// Adds traces to those that can be chosen and compares the first of them that is predicted with the first measured one.
  void add_timelines(std::vector<NamedTimeline> timelines);
  /// Selects the instruction in both steps and brings it into view.
  void show_instruction(std::uint32_t instruction);

  [[nodiscard]] TimelineView& view() { return *view_; }
  [[nodiscard]] const SharedSteps& steps() const { return steps_; }
  [[nodiscard]] const SplitChart& chart() const { return *chart_; }
  [[nodiscard]] QString told() const;

 private:
  QWidget* make_bar();
  QWidget* make_top();
  QWidget* make_tables();
  QTableView* make_table(DifferenceModel* model);
  void connect_parts();
  void choose_pair(const std::vector<NamedTimeline>& added);
  void read_waiting();
  void add_files(std::vector<std::vector<NamedTimeline>> files);
  void fill_lists();
  void compare();
  void take(const SharedSteps& steps);
  void tell();
  void tell_memory();
  void show_pair(const SceneEvent& clicked);
  void show_whole();
  void go_worst();
  void go_first();
  [[nodiscard]] QString op_text(std::uint32_t instruction) const;

  std::vector<NamedTimeline> sources_;
  int first_ = -1;
  int second_ = -1;
  SharedSteps steps_;
  Theme theme_;
  bool selecting_ = false;
  LatestJob* job_;
  LatestJob* reading_;
  std::vector<std::string> waiting_;  ///< files that were asked for and are not read yet
  QStackedWidget* stack_;
  QLabel* empty_;
  QComboBox* first_list_;
  QComboBox* second_list_;
  QLabel* against_;
  QToolButton* first_button_;
  QToolButton* worst_button_;
  QToolButton* whole_button_;
  TimelineView* view_;
  QLabel* summary_;
  SplitChart* chart_;
  QLabel* memory_;
  QLabel* selected_;
  QTabWidget* tabs_;
  DifferenceModel* classes_;
  DifferenceModel* ops_;
};

std::unique_ptr<Page> make_compare_page(const PageContext& context);

}  // namespace plimsoll::gui
