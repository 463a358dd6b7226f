#include "gui/compare/compare_page.h"

#include <QComboBox>
#include <QFileInfo>
#include <QFrame>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>

#include <algorithm>

#include "gui/compare/split_chart.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/timeline/open_run_file.h"
#include "gui/timeline/timeline_view.h"

namespace plimsoll::gui {
namespace {

QFrame* card_of(std::initializer_list<QWidget*> content) {
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* column = new QVBoxLayout(frame);
  column->setContentsMargins(10, 8, 10, 8);
  column->setSpacing(6);
  for (QWidget* widget : content) column->addWidget(widget);
  return frame;
}

QLabel* rich_label() {
  auto* label = new QLabel;
  label->setTextFormat(Qt::RichText);
  label->setWordWrap(true);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  return label;
}

}  // namespace

ComparePage::ComparePage(QWidget* parent)
    : Page(parent),
      theme_(light_theme()),
      job_(new LatestJob(this)),
      reading_(new LatestJob(this)),
      stack_(new QStackedWidget),
      empty_(new QLabel),
      first_list_(new QComboBox),
      second_list_(new QComboBox),
      against_(new QLabel),
      first_button_(new QToolButton),
      worst_button_(new QToolButton),
      whole_button_(new QToolButton),
      view_(new TimelineView),
      summary_(rich_label()),
      chart_(new SplitChart),
      memory_(rich_label()),
      selected_(rich_label()),
      tabs_(new QTabWidget),
      classes_(new DifferenceModel(DifferenceModel::Rows::kClasses, this)),
      ops_(new DifferenceModel(DifferenceModel::Rows::kOps, this)) {
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setProperty("quiet", true);
  auto* full = new QWidget;
  auto* column = new QVBoxLayout(full);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(make_bar());
  auto* split = new QSplitter(Qt::Vertical);
  split->addWidget(make_top());
  split->addWidget(make_tables());
  split->setSizes({560, 250});
  column->addWidget(split, 1);
  stack_->addWidget(empty_);
  stack_->addWidget(full);
  auto* page = new QVBoxLayout(this);
  page->setContentsMargins(14, 12, 14, 10);
  page->addWidget(stack_);
  connect_parts();
  setFocusProxy(view_);
}

QWidget* ComparePage::make_bar() {
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  first_list_->setObjectName(QStringLiteral("compare.first"));
  second_list_->setObjectName(QStringLiteral("compare.second"));
  row->addWidget(first_list_);
  row->addWidget(against_);
  row->addWidget(second_list_);
  row->addStretch(1);
  for (QToolButton* button : {first_button_, worst_button_, whole_button_}) row->addWidget(button);
  return bar;
}

QWidget* ComparePage::make_top() {
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(card_of({summary_, chart_}));
  auto* scrolled = new QScrollArea;
  scrolled->setWidgetResizable(true);
  scrolled->setWidget(memory_);
  scrolled->setObjectName("compare.memory");
  memory_->setAutoFillBackground(false);
  scrolled->viewport()->setAutoFillBackground(false);
  column->addWidget(card_of({scrolled}), 1);
  auto* split = new QSplitter;
  split->addWidget(card_of({view_}));
  split->addWidget(right);
  split->setStretchFactor(0, 1);
  split->setSizes({820, 460});
  return split;
}

QTableView* ComparePage::make_table(DifferenceModel* model) {
  auto* sorted = new QSortFilterProxyModel(this);
  sorted->setSourceModel(model);
  sorted->setSortRole(Qt::UserRole);
  auto* table = new QTableView;
  table->setModel(sorted);
  table->setSortingEnabled(true);
  sorted->sort(-1);  // as the model has them, until a heading is clicked
  table->horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(22);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setDefaultSectionSize(120);
  table->horizontalHeader()->setSectionResizeMode(DifferenceModel::kName, QHeaderView::Stretch);
  table->setShowGrid(false);
  table->setFrameShape(QFrame::NoFrame);
  table->setIconSize(QSize(10, 10));
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  return table;
}

QWidget* ComparePage::make_tables() {
  tabs_->addTab(make_table(classes_), QString());
  QTableView* ops = make_table(ops_);
  tabs_->addTab(ops, QString());
  tabs_->setDocumentMode(true);
  connect(ops, &QTableView::clicked, this, [this, ops](const QModelIndex& index) {
    const auto* sorted = static_cast<const QSortFilterProxyModel*>(ops->model());
    show_instruction(ops_->instruction(sorted->mapToSource(index).row()));
  });
  auto* frame = card_of({selected_, tabs_});
  return frame;
}

void ComparePage::connect_parts() {
  connect(job_, &LatestJob::broke, this, [this](const QString& why) { Q_EMIT failed(say("Cannot compare the traces"), why); });
  connect(reading_, &LatestJob::broke, this, [this](const QString& why) {
    waiting_.clear();
    Q_EMIT failed(say("Cannot open the run file"), why);
  });
  const auto chosen = [this] {
    first_ = first_list_->currentIndex();
    second_ = second_list_->currentIndex();
    compare();
  };
  connect(first_list_, &QComboBox::activated, this, chosen);
  connect(second_list_, &QComboBox::activated, this, chosen);
  connect(first_button_, &QToolButton::clicked, this, &ComparePage::go_first);
  connect(worst_button_, &QToolButton::clicked, this, &ComparePage::go_worst);
  connect(whole_button_, &QToolButton::clicked, this, &ComparePage::show_whole);
  connect(view_, &TimelineView::selected, this, [this] {
    if (!selecting_ && view_->state().selected) show_pair(*view_->state().selected);
  });
}

QString ComparePage::title() const { return say("Compare"); }

void ComparePage::retranslate() {
  empty_->setText(
      say("Drop a run file (.plimsoll) here, or open one with Ctrl+O: its measured steps are laid beside their prediction.\n"
          "Of two that are opened together the runs are compared, whatever plans they ran.\n\n"
          "The Run page makes run files, and so does:  plimsoll run MODEL --data FILE -o run.plimsoll"));
  against_->setText(say("against"));
  first_button_->setText(say("First divergence"));
  first_button_->setToolTip(say("The first operation that took a tenth more or less than in the first trace"));
  worst_button_->setText(say("Worst divergence"));
  worst_button_->setToolTip(say("The operation whose duration differs most"));
  whole_button_->setText(say("Whole step"));
  tabs_->setTabText(0, say("By kind of work"));
  tabs_->setTabText(1, say("By operation"));
  for (int i = 0; i < tabs_->count(); ++i) tabs_->widget(i)->setAccessibleName(tabs_->tabText(i));
  findChild<QScrollArea*>("compare.memory")->setAccessibleName(say("Memory"));
  first_list_->setAccessibleName(say("First trace"));
  second_list_->setAccessibleName(say("Second trace"));
  view_->setAccessibleName(say("Both steps on one axis, the first above"));
  classes_->retranslate();
  ops_->retranslate();
  fill_lists();
  tell();
}

void ComparePage::apply_theme(const Theme& theme) {
  theme_ = theme;
  view_->apply_theme(theme);
  chart_->apply_theme(theme);
  classes_->apply_theme(theme);
  ops_->apply_theme(theme);
  tell();
}

void ComparePage::fill_lists() {
  for (QComboBox* list : {first_list_, second_list_}) {
    const QSignalBlocker quiet(list);
    list->clear();
    for (const NamedTimeline& source : sources_) list->addItem(QString::fromStdString(source.name));
  }
  first_list_->setCurrentIndex(first_);
  second_list_->setCurrentIndex(second_);
}

void ComparePage::choose_pair(const std::vector<NamedTimeline>& added) {
  const int before = static_cast<int>(sources_.size());
  const auto first_of = [&](TraceKind kind, const std::string& digest) {
    const auto found = std::find_if(added.begin(), added.end(), [&](const NamedTimeline& named) {
      return named.timeline->kind == kind && (digest.empty() || named.timeline->plan_digest == digest);
    });
    return found == added.end() ? -1 : before + static_cast<int>(found - added.begin());
  };
  const int measured = first_of(TraceKind::kMeasured, {});
  const std::string plan =
      measured < 0 ? std::string() : added[static_cast<std::size_t>(measured - before)].timeline->plan_digest;
  // A run's file has other plans' traces too: its warm-up's and the move's.
  const int of_the_plan = first_of(TraceKind::kPredicted, plan);
  const int predicted = of_the_plan >= 0 ? of_the_plan : first_of(TraceKind::kPredicted, {});
  const int first_before = second_ >= 0 ? second_ : first_;
  second_ = measured >= 0 ? measured : predicted;
  first_ = measured >= 0 && predicted >= 0 ? predicted : first_before >= 0 ? first_before : second_;
}

void ComparePage::add_timelines(std::vector<NamedTimeline> timelines) {
  choose_pair(timelines);
  for (NamedTimeline& timeline : timelines) sources_.push_back(std::move(timeline));
  fill_lists();
  compare();
}

void ComparePage::compare() {
  if (first_ < 0 || second_ < 0) return;
  const SharedTimeline first = sources_[static_cast<std::size_t>(first_)].timeline;
  const SharedTimeline second = sources_[static_cast<std::size_t>(second_)].timeline;
  job_->start([this, first, second](const Stop&, const LatestJob::Deliver& deliver) {
    const SharedSteps steps = compare_steps(first, second);
    deliver([this, steps] { take(steps); });
  });
}

bool ComparePage::open_file(const QString& path) {
  const bool named_so = path.endsWith(QLatin1String(".plimsoll"), Qt::CaseInsensitive);
  if (!named_so && !looks_like_database(path.toStdString())) return false;
  waiting_.push_back(path.toStdString());
  read_waiting();
  return true;
}

/// Reads all files that wait: one that comes while others are read takes their place with them.
void ComparePage::read_waiting() {
  reading_->start([this, paths = waiting_](const Stop&, const LatestJob::Deliver& deliver) {
    std::vector<std::vector<NamedTimeline>> files;
    std::vector<Error> errors;
    for (const std::string& path : paths) {
      auto opened = open_run_file(path);
      if (!opened) {
        errors.push_back(opened.error());
        continue;
      }
      const std::string file = QFileInfo(QString::fromStdString(path)).completeBaseName().toStdString();
      for (NamedTimeline& named : *opened) named.name = file + ": " + named.name;
      files.push_back(std::move(*opened));
    }
    deliver([this, files = std::move(files), errors = std::move(errors)]() mutable {
      waiting_.clear();
      for (const Error& error : errors) Q_EMIT failed(say("Cannot open the run file"), say_engine(error.text()));
      add_files(std::move(files));
    });
  });
}

/// Of files that came together the first one's run is held against the last one's.
void ComparePage::add_files(std::vector<std::vector<NamedTimeline>> files) {
  std::vector<int> runs;
  for (std::vector<NamedTimeline>& file : files) {
    const bool ran = std::any_of(file.begin(), file.end(), [](const NamedTimeline& t) { return t.timeline->kind == TraceKind::kMeasured; });
    add_timelines(std::move(file));
    if (ran) runs.push_back(second_);
  }
  if (runs.size() < 2) return;
  first_ = runs.front();
  second_ = runs.back();
  fill_lists();
  compare();
}

std::vector<NamedTable> ComparePage::tables() const {
  return {{QStringLiteral("difference-by-kind"), classes_}, {QStringLiteral("difference-by-operation"), ops_}};
}

std::unique_ptr<Page> make_compare_page(const PageContext& /*context*/) { return std::make_unique<ComparePage>(); }

}  // namespace plimsoll::gui
