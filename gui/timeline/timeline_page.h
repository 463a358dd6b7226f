#pragma once

#include "gui/app/page.h"
#include "gui/jobs/latest_job.h"
#include "gui/timeline/event_details.h"
#include "gui/timeline/find_events.h"
#include "gui/timeline/neighbours.h"
#include "gui/timeline/timeline.h"

class QComboBox;
class QLabel;
class QStackedWidget;
class QToolButton;

namespace plimsoll::gui {

class LegendBar;
class SearchBar;
class SidePanel;
class TimelineView;

/// A trace that can be chosen.
struct NamedTimeline {
  std::string name;  ///< "predicted", "run"
  SharedTimeline timeline;
};

/// What a file has of these; it works in the background.
using OpenTimelines = Result<std::vector<NamedTimeline>> (*)(const std::string& path);

/// The step as it goes: a track a queue, memory beneath, and what is asked about any of it.
class TimelinePage final : public Page {
  Q_OBJECT

 public:
  explicit TimelinePage(QWidget* parent = nullptr);

  [[nodiscard]] QString name() const override { return QStringLiteral("timeline"); }
  [[nodiscard]] QString title() const override;
  void retranslate() override;
  void apply_theme(const Theme& theme) override;
  bool open_file(const QString& path) override;
  /// A plan, too, as it is predicted.
  bool open_here(const QString& path) override;
  void show_plan(const SharedPlan& plan) override;
  [[nodiscard]] bool busy() const override { return job_->busy() || plan_job_->busy(); }
  [[nodiscard]] std::vector<NamedTable> tables() const override;

  /// Shows the first of these traces, the others to be chosen; `costs` says where the durations of predictions are from.
  void show_timelines(std::vector<NamedTimeline> timelines, const QString& costs);

  [[nodiscard]] TimelineView& view() { return *view_; }
  [[nodiscard]] SidePanel& panel() { return *panel_; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_bar();
  QWidget* make_centre();
  QToolButton* make_button(bool checkable);
  void connect_view();
  void choose(int index);
  /// Opens a file in the background and shows what is in it; `title` is over what goes wrong.
  void read(const QString& path, OpenTimelines open, const QString& title);
  void fill_list();
  void retell();
  void show_selected();
  void show_range();
  void show_peak(int curve);
  void show_step();
  void search(const QString& words);
  void go_to(bool next);
  void refresh_emphasis();
  void forget_plan();
  [[nodiscard]] bool plan_shown() const;
  void list_plan(const SharedTimeline& timeline, const QString& costs);
  void set_empty(const QString& why);
  [[nodiscard]] SharedTimeline current() const;
  [[nodiscard]] std::optional<EventRef> selected_ref() const;

  std::vector<NamedTimeline> timelines_;
  std::unique_ptr<DependencyIndex> dependencies_;
  std::unique_ptr<CostModel> catalogue_;
  QString costs_;
  bool of_plan_ = false;      ///< what is shown is the Explore page's plan
  bool of_file_ = false;      ///< a file was opened: it stays, and plans are listed behind it
  bool plan_listed_ = false;  ///< the last timeline is the Explore page's plan, behind those of a file
  EventQuery query_;
  Theme theme_;
  LatestJob* job_;
  LatestJob* plan_job_;
  QStackedWidget* stack_;
  QLabel* empty_;
  QComboBox* list_;
  SearchBar* search_;
  QToolButton* critical_;
  QToolButton* bubbles_;
  QToolButton* whole_;
  QToolButton* step_;
  TimelineView* view_;
  SidePanel* panel_;
  LegendBar* legend_;
};

std::unique_ptr<Page> make_timeline_page(const PageContext& context);

}  // namespace plimsoll::gui
