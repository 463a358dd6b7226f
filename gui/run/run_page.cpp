#include "gui/run/run_page.h"

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QStandardPaths>
#include <QTableView>
#include <QUndoStack>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/app/change_command.h"
#include "gui/app/plan_file.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/run/line_chart.h"
#include "gui/run/run_form.h"
#include "gui/run/runs_model.h"
#include "gui/theme/row_table.h"

namespace plimsoll::gui {
namespace {

constexpr int kFormWidth = 348;
constexpr int kNarrowestColumn = 48;
constexpr std::size_t kFirstSteps = 1;  ///< that a median leaves out: the first of a process is not representative

double median(std::vector<double> values) {
  if (values.size() > kFirstSteps) values.erase(values.begin(), values.begin() + kFirstSteps);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

QString loss_text(double loss) { return QLocale().toString(loss, 'f', 3); }

QString mebibytes_text(double bytes) { return bytes_text(Bytes(static_cast<std::int64_t>(bytes))); }

}  // namespace

std::unique_ptr<Page> make_run_page(const PageContext& context) { return std::make_unique<RunPage>(context); }

RunPage::RunPage(const PageContext& context)
    : context_(context), process_(context.engine), form_(new RunForm), start_(new QPushButton), stop_(new QPushButton),
      from_explore_(new QPushButton), compare_(new QPushButton), status_(new QLabel), throughput_(new QLabel),
      progress_(new QProgressBar), loss_(new LineChart(0, loss_text)), time_(new LineChart(2, seconds_text)),
      memory_(new LineChart(3, mebibytes_text, static_cast<double>(kMiB.count))), runs_heading_(new QLabel), runs_(new RunsModel(this)), table_(new QTableView) {
  choices_.folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/runs");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 12, 12, 12);
  row->setSpacing(12);
  row->addWidget(make_left());
  row->addWidget(make_right(), 1);
  setFocusProxy(form_);
  connect_parts();
  form_->show_choices(choices_);
  runs_->look(choices_.folder);
  show_buttons();
}

RunPage::~RunPage() = default;

QWidget* RunPage::make_left() {
  auto* left = new QWidget;
  left->setFixedWidth(kFormWidth);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(form_);
  column->addWidget(from_explore_);
  auto* buttons = new QHBoxLayout;
  start_->setDefault(true);
  start_->setObjectName("run.start");
  stop_->setObjectName("run.stop");
  buttons->addWidget(start_, 1);
  buttons->addWidget(stop_, 1);
  column->addLayout(buttons);
  column->addStretch();
  return left;
}

QWidget* RunPage::make_right() {
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(12);
  column->addWidget(make_live_card(), 3);
  column->addWidget(make_list_card(), 2);
  return right;
}

QWidget* RunPage::make_live_card() {
  auto* card = new QFrame;
  card->setProperty("card", true);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(18, 14, 18, 14);
  column->setSpacing(10);
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.25);
  large.setWeight(QFont::DemiBold);
  status_->setFont(large);
  status_->setWordWrap(true);
  status_->setObjectName("run.status");
  status_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  throughput_->setProperty("quiet", true);
  throughput_->setWordWrap(true);
  progress_->setTextVisible(false);
  progress_->setFixedHeight(8);
  column->addWidget(status_);
  column->addWidget(throughput_);
  column->addWidget(progress_);
  column->addWidget(loss_, 3);
  auto* pair = new QHBoxLayout;
  pair->setSpacing(20);
  pair->addWidget(time_);
  pair->addWidget(memory_);
  column->addLayout(pair, 2);
  return card;
}

QWidget* RunPage::make_list_card() {
  table_->setModel(runs_);
  table_->setObjectName("runs");
  make_row_table(*table_, fontMetrics().height() + 10);
  table_->horizontalHeader()->setMinimumSectionSize(kNarrowestColumn);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setSectionResizeMode(RunsModel::kModel, QHeaderView::Stretch);
  auto* card = new QFrame;
  card->setProperty("card", true);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(14, 10, 14, 12);
  auto* top = new QHBoxLayout;
  runs_heading_->setProperty("heading", true);
  top->addWidget(runs_heading_);
  top->addStretch();
  top->addWidget(compare_);
  column->addLayout(top);
  column->addWidget(table_);
  return card;
}

void RunPage::connect_parts() {
  connect(form_, &RunForm::changed, this, &RunPage::choose);
  connect(start_, &QPushButton::clicked, this, &RunPage::start);
  connect(stop_, &QPushButton::clicked, this, &RunPage::stop);
  connect(from_explore_, &QPushButton::clicked, this, &RunPage::take_from_explore);
  connect(&process_, &RunProcess::told, this, &RunPage::take);
  connect(&process_, &RunProcess::ended, this, &RunPage::take_end);
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) { open_run(index.row()); });
  connect(compare_, &QPushButton::clicked, this, [this] { open_run(table_->currentIndex().row()); });
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, &RunPage::show_buttons);
  connect(runs_, &QAbstractItemModel::modelReset, this, [this] {
    name_runs();
    if (runs_->rowCount() > 0) table_->setCurrentIndex(runs_->index(0, 0));
    show_buttons();
  });
}

QString RunPage::title() const { return say("Run"); }

QString RunPage::status() const { return status_->text(); }

bool RunPage::busy() const { return process_.running() || runs_->busy(); }

std::vector<NamedTable> RunPage::tables() const { return {{QStringLiteral("runs"), runs_}}; }

void RunPage::retranslate() {
  form_->retranslate();
  form_->show_choices(choices_);
  start_->setText(say("Start"));
  stop_->setText(say("Stop, keep a checkpoint"));
  from_explore_->setText(say("Take model and batch from Explore"));
  compare_->setText(say("Compare with its prediction"));
  name_runs();
  loss_->set_title(say("Loss"));
  time_->set_title(say("Step time; dashed: predicted"));
  memory_->set_title(say("Memory of the process"));
  table_->setAccessibleName(say("Runs"));
  progress_->setAccessibleName(say("Steps done"));
  runs_->retranslate();
  if (!process_.running() && step_seconds_.empty()) {
    status_->setText(say("Nothing runs."));
    throughput_->setText(say("Choose a model and data, and start: the first steps measure this computer, then the best plan goes on."));
  }
}

void RunPage::apply_theme(const Theme& theme) {
  for (LineChart* chart : {loss_, time_, memory_}) chart->apply_theme(theme);
}

bool RunPage::open_file(const QString& path) {
  const QFileInfo file(path);
  const QString ending = file.suffix().toLower();
  RunChoices choices = choices_;
  if (ending == "txt" || ending == "bin" || ending == "jsonl") {
    choices.data = file.absoluteFilePath();
    return choose(choices, QStringLiteral("data")), true;
  }
  if (!looks_like_plan(path)) return false;
  choices.model = file.absoluteFilePath();
  return choose(choices, QStringLiteral("model")), true;
}

void RunPage::show_plan(const SharedPlan& plan) {
  explored_ = plan;
  show_buttons();
}

void RunPage::choose(const RunChoices& choices, const QString& what) {
  if (choices == choices_) return;
  context_.undo.push(new ChangeCommand(this, &RunPage::set_choices, choices_, choices, what, static_cast<int>(ChangeId::kRun)));
}

void RunPage::set_choices(const RunChoices& choices) {
  const bool elsewhere = choices.folder != choices_.folder;
  choices_ = choices;
  form_->show_choices(choices);
  if (elsewhere) runs_->look(choices.folder);
}

void RunPage::take_from_explore() {
  if (!explored_) return;
  RunChoices choices = choices_;
  const Recipe& recipe = explored_->plan.recipe;
  choices.model = QString::fromStdString(explored_->plan.spec.name);
  choices.batch = recipe.micro_batch;
  choices.accumulate = recipe.accumulate;
  choices.sequence = recipe.sequence;
  choices.optimizer = QString::fromUtf8(to_text(recipe.optimizer).data(), static_cast<qsizetype>(to_text(recipe.optimizer).size()));
  choose(choices, QStringLiteral("from explore"));
}

void RunPage::start() {
  if (process_.running()) return;
  if (!QFileInfo::exists(choices_.data)) {
    Q_EMIT failed(say("Nothing to train on"), say("Choose a data file: a text (each byte is a token), tokens, records or images."));
    return;
  }
  if (!QDir().mkpath(choices_.folder)) {
    Q_EMIT failed(say("The run cannot start"), say("The folder %1 cannot be made; choose another for run files.").arg(choices_.folder));
    return;
  }
  for (LineChart* chart : {loss_, time_, memory_}) chart->clear();
  step_seconds_.clear();
  predicted_ = {};
  progress_->setRange(0, 0);
  status_->setText(say("Starting…"));
  throughput_->clear();
  process_.start(run_arguments(choices_, new_run_file(choices_)));
  show_buttons();
}

void RunPage::stop() {
  process_.stop();
  if (process_.running()) status_->setText(say("Stopping after this step…"));
}

void RunPage::take(const ProgressLine& line) {
  if (const auto* stage = std::get_if<StageLine>(&line)) status_->setText(say_engine(stage->text.toStdString()));
  if (const auto* warning = std::get_if<WarningLine>(&line)) Q_EMIT said(say_engine(warning->text.toStdString()));
  if (const auto* plan = std::get_if<PlanLine>(&line)) take_plan(*plan);
  if (const auto* step = std::get_if<StepLine>(&line)) take_step(*step);
  if (const auto* found = std::get_if<EvaluationLine>(&line)) loss_->add_mark(static_cast<double>(found->steps), found->loss);
}

void RunPage::take_plan(const PlanLine& plan) {
  predicted_ = plan;
  time_->show_level(plan.seconds, plan.low, plan.high);
  step_seconds_.clear();  // the warm-up's plan was another
  show_throughput();
}

void RunPage::take_step(const StepLine& step) {
  progress_->setRange(0, static_cast<int>(std::min<std::int64_t>(step.end_step, 1'000'000'000)));
  progress_->setValue(static_cast<int>(step.step + 1));
  loss_->add(static_cast<double>(step.step), step.loss);
  time_->add(static_cast<double>(step.step), step.seconds);
  if (step.process_bytes) memory_->add(static_cast<double>(step.step), static_cast<double>(*step.process_bytes));
  step_seconds_.push_back(step.seconds);
  status_->setText(say("Step %1 of %2, loss %3").arg(QLocale().toString(static_cast<qlonglong>(step.step + 1)),
                                                   QLocale().toString(static_cast<qlonglong>(step.end_step)), loss_text(step.loss)));
  show_throughput();
}

void RunPage::show_throughput() {
  const double seconds = median(step_seconds_);
  QStringList parts;
  if (!predicted_.strategy.isEmpty()) {
    parts << say("Plan %1, predicted %2 a step (%3 to %4)")
                 .arg(predicted_.strategy, seconds_text(predicted_.seconds), seconds_text(predicted_.low), seconds_text(predicted_.high));
  }
  if (seconds > 0) parts << say("measured %1 in the median").arg(seconds_text(seconds));
  if (seconds > 0 && predicted_.tokens > 0) {
    parts << say("%1 tokens a second, predicted %2")
                 .arg(number_text(static_cast<double>(predicted_.tokens) / seconds), number_text(static_cast<double>(predicted_.tokens) / predicted_.seconds));
  }
  throughput_->setText(parts.join(QStringLiteral("; ")));
}

void RunPage::take_end(const RunEnd& end) {
  progress_->setRange(0, 1);
  progress_->setValue(end.kind == RunEnd::Kind::kDone ? 1 : 0);
  status_->setText(end.text);
  if (end.kind == RunEnd::Kind::kFailed) Q_EMIT failed(say("The run ended early"), end.text);
  runs_->look(choices_.folder);
  show_buttons();
  Q_EMIT runEnded(end);
}

void RunPage::name_runs() {
  runs_heading_->setText(runs_->rowCount() > 0 ? say("Runs") : say("Runs: there is none in this folder yet"));
}

void RunPage::show_buttons() {
  start_->setEnabled(!process_.running());
  stop_->setEnabled(process_.running());
  from_explore_->setEnabled(explored_ != nullptr && !process_.running());
  const int row = table_->currentIndex().row();
  compare_->setEnabled(row >= 0 && row < static_cast<int>(runs_->runs().size()));
}

void RunPage::open_run(int row) {
  if (row < 0 || row >= static_cast<int>(runs_->runs().size())) return;
  Q_EMIT openRequested(QStringLiteral("compare"), runs_->runs()[static_cast<std::size_t>(row)].path);
}

}  // namespace plimsoll::gui
