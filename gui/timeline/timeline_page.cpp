#include "gui/timeline/timeline_page.h"

#include <QComboBox>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>

#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/timeline/build_timeline.h"
#include "gui/timeline/legend.h"
#include "gui/timeline/place_details.h"
#include "gui/timeline/search_bar.h"
#include "gui/timeline/selection_statistics.h"
#include "gui/timeline/side_panel.h"
#include "gui/timeline/time_ticks.h"
#include "gui/timeline/timeline_view.h"
#include "sim/cost/catalogue_cost_model.h"

namespace plimsoll::gui {
namespace {

QString trace_name(const NamedTimeline& named) {
  const QString name = QString::fromStdString(named.name);
  return named.timeline->kind == TraceKind::kPredicted ? say("%1 (predicted)").arg(name) : say("%1 (measured)").arg(name);
}

}  // namespace

TimelinePage::TimelinePage(QWidget* parent)
    : Page(parent),
      catalogue_(std::make_unique<CatalogueCostModel>()),
      theme_(light_theme()),
      job_(new LatestJob(this)),
      plan_job_(new LatestJob(this)),
      stack_(new QStackedWidget),
      empty_(new QLabel),
      list_(new QComboBox),
      search_(new SearchBar),
      view_(new TimelineView),
      panel_(new SidePanel),
      legend_(new LegendBar) {
  critical_ = make_button(true);
  bubbles_ = make_button(true);
  bubbles_->setChecked(true);
  whole_ = make_button(false);
  step_ = make_button(false);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setProperty("quiet", true);
  empty_->setWordWrap(true);
  stack_->addWidget(empty_);
  stack_->addWidget(make_centre());
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(14, 12, 14, 10);
  column->addWidget(stack_);
  connect_view();
  setFocusProxy(view_);
}

QToolButton* TimelinePage::make_button(bool checkable) {
  auto* button = new QToolButton;
  button->setCheckable(checkable);
  button->setToolButtonStyle(Qt::ToolButtonTextOnly);
  return button;
}

QWidget* TimelinePage::make_bar() {
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  row->addWidget(list_);
  row->addWidget(search_);
  row->addStretch(1);
  for (QToolButton* button : {critical_, bubbles_, step_, whole_}) row->addWidget(button);
  return bar;
}

QWidget* TimelinePage::make_centre() {
  auto* centre = new QWidget;
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(make_bar());
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* inside = new QVBoxLayout(frame);
  inside->setContentsMargins(6, 6, 6, 6);
  inside->addWidget(view_);
  auto* split = new QSplitter;
  split->addWidget(frame);
  split->addWidget(panel_);
  split->setStretchFactor(0, 1);
  split->setSizes({1000, 350});
  column->addWidget(split, 1);
  column->addWidget(legend_);
  return centre;
}

void TimelinePage::connect_view() {
  for (LatestJob* job : {job_, plan_job_}) {
    connect(job, &LatestJob::broke, this, [this](const QString& why) {
      retell();
      Q_EMIT failed(say("Cannot draw the trace"), why);
    });
  }
  connect(list_, &QComboBox::activated, this, &TimelinePage::choose);
  connect(view_, &TimelineView::selected, this, &TimelinePage::show_selected);
  connect(view_, &TimelineView::rangeSelected, this, &TimelinePage::show_range);
  connect(view_, &TimelineView::peakClicked, this, &TimelinePage::show_peak);
  connect(view_, &TimelineView::placeClicked, this, [this](const ScenePlace& place) {
    panel_->show_details(place_title(view_->scene(), place), place_details(view_->scene(), place));
  });
  connect(search_, &SearchBar::wordsChanged, this, &TimelinePage::search);
  connect(search_, &SearchBar::nextRequested, this, [this] { go_to(true); });
  connect(search_, &SearchBar::previousRequested, this, [this] { go_to(false); });
  connect(critical_, &QToolButton::toggled, this, &TimelinePage::refresh_emphasis);
  connect(bubbles_, &QToolButton::toggled, view_, &TimelineView::set_bubbles);
  connect(whole_, &QToolButton::clicked, view_, &TimelineView::show_all);
  connect(step_, &QToolButton::clicked, this, &TimelinePage::show_step);
  for (const auto& keys : {QKeySequence(Qt::Key_Slash), QKeySequence(QKeySequence::Find)}) {
    connect(new QShortcut(keys, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut), &QShortcut::activated, search_,
            &SearchBar::begin);
  }
}

void TimelinePage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  view_->setFocus();
}

QString TimelinePage::title() const { return say("Timeline"); }

void TimelinePage::retranslate() {
  critical_->setText(say("Critical path"));
  critical_->setToolTip(say("What determines the end of the step stands out"));
  bubbles_->setText(say("Bubbles"));
  bubbles_->setToolTip(say("Hatches the time in which arithmetic waits"));
  whole_->setText(say("Whole trace"));
  whole_->setToolTip(say("Shows everything (Home)"));
  step_->setText(say("One step"));
  step_->setToolTip(say("Shows the step that stands for the others"));
  list_->setAccessibleName(say("Trace"));
  view_->setAccessibleName(say("Timeline: W and S zoom, A and D pan, . and , go along a track, ] and [ along dependencies"));
  search_->retranslate();
  panel_->retranslate();
  fill_list();
  retell();
}

/// Everything that says something in the window's language or a theme's colours.
void TimelinePage::retell() {
  if (current() == nullptr) {
    set_empty(say("Choose a model on the Explore page, or drop a run file (.plimsoll) here:\nits steps are drawn over time. Of other programs and of several GPUs, \"Show over time\" on that page draws them."));
    return;
  }
  legend_->show_entries(legend_entries({current()}, theme_));
  show_selected();
  show_range();
  view_->viewport()->update();
}

void TimelinePage::set_empty(const QString& why) {
  empty_->setText(why);
  stack_->setCurrentIndex(0);
}

void TimelinePage::apply_theme(const Theme& theme) {
  theme_ = theme;
  view_->apply_theme(theme);
  panel_->apply_theme(theme);
  if (current() != nullptr) retell();
}

SharedTimeline TimelinePage::current() const {
  const int index = list_->currentIndex();
  return index < 0 || timelines_.empty() ? nullptr : timelines_[static_cast<std::size_t>(index)].timeline;
}

void TimelinePage::fill_list() {
  const int kept = std::max(list_->currentIndex(), 0);
  list_->clear();
  for (const NamedTimeline& named : timelines_) list_->addItem(trace_name(named));
  list_->setCurrentIndex(timelines_.empty() ? -1 : std::min(kept, list_->count() - 1));
  list_->setVisible(list_->count() > 1);
}

void TimelinePage::show_timelines(std::vector<NamedTimeline> timelines, const QString& costs) {
  timelines_ = std::move(timelines);
  plan_listed_ = false;
  costs_ = costs;
  list_->setCurrentIndex(-1);
  fill_list();
  choose(0);
}

void TimelinePage::choose(int index) {
  if (timelines_.empty()) {
    retell();
    return;
  }
  list_->setCurrentIndex(index);
  const SharedTimeline timeline = current();
  dependencies_ = std::make_unique<DependencyIndex>(timeline->body);
  stack_->setCurrentIndex(1);
  view_->set_scene(lay_out({{timeline, 0, ""}}));
  search(search_->words());
  retell();
  show_step();
}

void TimelinePage::show_step() {
  const SharedTimeline timeline = current();
  if (timeline == nullptr) return;
  const StepMark* step = timeline->step(timeline->typical_step());
  if (step == nullptr || step->end <= step->begin) return view_->show_all();
  view_->show_range(static_cast<double>(step->begin), static_cast<double>(step->end), 0.985);
}

std::optional<EventRef> TimelinePage::selected_ref() const {
  const auto& selected = view_->state().selected;
  return selected ? std::optional(selected->ref) : std::nullopt;
}

void TimelinePage::show_selected() {
  const SharedTimeline timeline = current();
  const auto ref = selected_ref();
  if (timeline == nullptr || !ref) {
    panel_->show_nothing();
    view_->set_links({}, {});
    return;
  }
  const Neighbours neighbours = dependencies_->of(*timeline, *ref);
  std::vector<SceneEvent> before, after;
  for (const EventRef& other : neighbours.before) before.push_back({0, other});
  for (const EventRef& other : neighbours.after) after.push_back({0, other});
  auto lines =
      event_details(*timeline, *ref, {catalogue_->source() == costs_.toStdString() ? catalogue_.get() : nullptr, costs_});
  lines.push_back({say("Waits for"), QString::number(before.size())});
  lines.push_back({say("Awaited by"), QString::number(after.size())});
  panel_->show_details(event_title(*timeline, *ref), lines);
  view_->set_links(std::move(before), std::move(after));
}

void TimelinePage::show_range() {
  const SharedTimeline timeline = current();
  if (timeline == nullptr) return;
  if (const auto& range = view_->state().range) {
    const QString title = say("Selected: %1").arg(QString::fromStdString(duration_text(range->end - range->begin)));
    panel_->show_statistics(title, timeline, select_range(*timeline, range->begin, range->end));
    return;
  }
  const StepMark* step = timeline->step(timeline->typical_step());
  const TimeBounds bounds = step == nullptr || step->end <= step->begin
                                ? timeline->bounds
                                : TimeBounds{static_cast<double>(step->begin), static_cast<double>(step->end)};
  const QString title = step == nullptr ? say("Whole trace") : say("Step %1").arg(step->step);
  panel_->show_statistics(title, timeline, select_range(*timeline, bounds.begin, bounds.end));
}

void TimelinePage::show_peak(int index) {
  const SceneCurve& at = view_->scene().curves[static_cast<std::size_t>(index)];
  const MemoryCurve& curve = view_->scene().sources[at.source].timeline->curves[at.curve];
  const CurvePoint& peak = curve.points()[curve.peak()];
  const auto text = [](std::int64_t bytes) { return QString::fromStdString(to_text(Bytes(bytes))); };
  std::vector<DetailLine> lines{
      {say("Live"), text(peak.total())}, {say("Reserved"), text(curve.packed())}, {say("Usable"), text(curve.usable())}};
  for (std::size_t part = 0; part < kCurveParts; ++part) {
    if (peak.bytes[part] > 0) lines.push_back({category_words(name_of(static_cast<CurvePart>(part))), text(peak.bytes[part])});
  }
  constexpr std::size_t kLargest = 12;
  for (std::size_t i = 0; i < std::min(kLargest, curve.at_peak.size()); ++i) {
    lines.push_back({text(curve.at_peak[i].bytes), QString::fromStdString(curve.at_peak[i].name)});
  }
  panel_->show_details(say("%1 at its peak").arg(space_words(curve.space())), lines);
}

void TimelinePage::search(const QString& words) {
  const SharedTimeline timeline = current();
  if (timeline == nullptr) return;
  query_ = EventQuery(*timeline, words.toStdString());
  const MatchCount count = count_matches(*timeline, query_, std::nullopt);
  search_->show_count(0, count.matches, !words.isEmpty());
  refresh_emphasis();
}

void TimelinePage::go_to(bool next) {
  const SharedTimeline timeline = current();
  if (timeline == nullptr || query_.empty()) return;
  const auto found = next ? next_match(*timeline, query_, selected_ref()) : previous_match(*timeline, query_, selected_ref());
  if (!found) return;
  view_->select(SceneEvent{0, *found}, true);
  const MatchCount count = count_matches(*timeline, query_, found);
  search_->show_count(count.position, count.matches, true);
}

void TimelinePage::refresh_emphasis() {
  if (current() == nullptr) return;
  if (!query_.empty()) {
    view_->set_emphasis(search_emphasis(view_->scene(), 0, query_));
  } else if (critical_->isChecked()) {
    view_->set_emphasis(critical_emphasis(view_->scene(), 0, current()->typical_step()));
  } else {
    view_->set_emphasis({});
  }
}

std::vector<NamedTable> TimelinePage::tables() const { return {{QStringLiteral("operations"), &panel_->model()}}; }

void TimelinePage::forget_plan() {
  plan_job_->cancel();
  if (of_file_) {
    const bool shown = plan_shown();
    if (plan_listed_) timelines_.pop_back();
    plan_listed_ = false;
    fill_list();
    if (shown) choose(0);
    return;
  }
  timelines_.clear();
  fill_list();
  set_empty(say("There is no plan to draw; the Explore page says why."));
}

bool TimelinePage::plan_shown() const { return plan_listed_ && list_->currentIndex() + 1 == static_cast<int>(timelines_.size()); }

/// Behind what a user opened, for the list: a plan that was found meanwhile takes nothing from the screen.
void TimelinePage::list_plan(const SharedTimeline& timeline, const QString& costs) {
  if (!of_file_) return show_timelines({{"plan", timeline}}, costs);
  const bool shown = plan_shown();
  if (plan_listed_) timelines_.pop_back();
  timelines_.push_back({"plan", timeline});
  plan_listed_ = true;
  fill_list();
  if (shown) choose(static_cast<int>(timelines_.size()) - 1);
}

void TimelinePage::show_plan(const SharedPlan& plan) {
  if (plan == nullptr) {
    if (of_plan_ || plan_listed_) forget_plan();
    return;
  }
  of_plan_ = !of_file_;
  if (of_plan_ && current() == nullptr) set_empty(say("Drawing the plan…"));
  plan_job_->start([this, plan](const Stop&, const LatestJob::Deliver& deliver) {
    const std::shared_ptr<const Plan> own(plan, &plan->plan);
    const SharedTimeline timeline = build_timeline(own, plan->prediction.trace);
    const QString costs = QString::fromStdString(plan->answer.calibration_source);
    deliver([this, timeline, costs] { list_plan(timeline, costs); });
  });
}

std::unique_ptr<Page> make_timeline_page(const PageContext& /*context*/) { return std::make_unique<TimelinePage>(); }

}  // namespace plimsoll::gui
