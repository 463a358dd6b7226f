#include "gui/explore/explore_page.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QFrame>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QShortcut>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QPushButton>
#include <QTextBrowser>
#include <QUndoStack>
#include <QVBoxLayout>

#include <algorithm>

#include "formats/trainers/read_training_files.h"
#include "gui/app/change_command.h"
#include "gui/explore/alternatives_model.h"
#include "gui/explore/choice_form.h"
#include "gui/explore/details_text.h"
#include "gui/explore/load_line.h"
#include "gui/explore/scatter.h"
#include "gui/explore/told_answer.h"
#include "gui/explore/training_file_choices.h"
#include "gui/explore/verdict_card.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/theme/row_table.h"

namespace plimsoll::gui {
namespace {

constexpr int kPauseMilliseconds = 5;   ///< in which a dragged slider's changes become one
constexpr int kFormWidth = 356;  ///< with a scroll bar beside the widest card

QFrame* card_of(QLabel* heading, QWidget* content) {
  auto* card = new QFrame;
  card->setProperty("card", true);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(16, 12, 16, 12);
  heading->setProperty("heading", true);
  heading->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);  // a long one does not widen its card
  column->addWidget(heading);
  column->addWidget(content, 1);
  return card;
}

QTextBrowser* text_view() {
  auto* view = new QTextBrowser;
  view->setFrameShape(QFrame::NoFrame);
  view->setOpenLinks(false);
  return view;
}

}  // namespace

std::unique_ptr<Page> make_explore_page(const PageContext& context) { return std::make_unique<ExplorePage>(context); }

ExplorePage::ExplorePage(const PageContext& context)
    : context_(context),
      own_(context.engine),
      program_(context.engine),
      over_time_(context.engine),
      form_(new ChoiceForm),
      card_(new VerdictCard),
      load_line_(new LoadLine),
      load_heading_(new QLabel),
      scatter_(new Scatter),
      scatter_heading_(new QLabel),
      details_(new QTabWidget),
      alternatives_(new AlternativesModel(this)),
      table_(new QTableView),
      help_(text_view()),
      notes_(text_view()),
      over_time_button_(new QPushButton) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 12, 12, 12);
  row->setSpacing(12);
  row->addWidget(make_left());
  row->addWidget(make_right(), 1);
  setFocusProxy(form_);
  connect_parts();
  const auto chosen = with_options(choices_, context.choices);
  form_->show_choices(chosen ? *chosen : choices_);
  set_choices(chosen ? *chosen : choices_);
  if (!chosen) card_->show_error(QString::fromStdString(chosen.error().text()));
}

ExplorePage::~ExplorePage() = default;

QWidget* ExplorePage::make_left() {
  auto* scroll = new QScrollArea;
  scroll->setWidget(form_);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFixedWidth(kFormWidth);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->viewport()->setAutoFillBackground(false);
  form_->setAutoFillBackground(false);
  return scroll;
}

QWidget* ExplorePage::make_right() {
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(12);
  column->addWidget(card_);
  column->addWidget(make_charts());
  column->addWidget(make_details(), 1);
  return right;
}

QWidget* ExplorePage::make_charts() {
  auto* charts = new QWidget;
  auto* row = new QHBoxLayout(charts);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(12);
  auto* bars = new QWidget;
  auto* column = new QVBoxLayout(bars);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(load_line_);
  column->addStretch();
  row->addWidget(card_of(load_heading_, bars), 11);
  row->addWidget(card_of(scatter_heading_, scatter_), 9);
  return charts;
}

QWidget* ExplorePage::make_details() {
  table_->setModel(alternatives_);
  make_row_table(*table_, fontMetrics().height() + 10);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setObjectName("alternatives");
  details_->addTab(table_, QString());
  details_->addTab(help_, QString());
  details_->addTab(notes_, QString());
  details_->setDocumentMode(true);
  details_->tabBar()->setDrawBase(false);
  over_time_button_->setObjectName("over_time");
  over_time_button_->setParent(details_);
  over_time_button_->hide();
  auto* card = new QFrame;
  card->setProperty("card", true);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(10, 8, 10, 10);
  column->addWidget(details_);
  return card;
}

void ExplorePage::connect_parts() {
  pause_.setSingleShot(true);
  pause_.setInterval(kPauseMilliseconds);
  connect(&pause_, &QTimer::timeout, this, &ExplorePage::start_job);
  connect(form_, &ChoiceForm::changed, this, [this](const Choices& choices, const QString& what) {
    const bool named = what == QLatin1String("model") && QFileInfo(choices.model).isFile();
    if (named && open_training_file(choices.model)) form_->show_choices(choices_);  // a file that was not read leaves all as it was
    else choose(choices, what);
  });
  connect(card_, &VerdictCard::nameTaken, this, &ExplorePage::take_name);
  connect(form_, &ChoiceForm::browseRequested, this, &ExplorePage::browse);
  connect(scatter_, &Scatter::chosen, this, &ExplorePage::choose_strategy);
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    choose_strategy(alternatives_->strategy(index.row()));
  });
  connect(new QShortcut(Qt::Key_Escape, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut), &QShortcut::activated, this,
          &ExplorePage::cancel_search);
  connect(&job_, &LatestJob::finished, this, [this] { card_->show_working(false); });
  connect(&job_, &LatestJob::broke, this, [this](const QString& why) {
    take(fail({.kind = ErrorKind::kEnvironment, .what = why.toStdString(), .where = {}, .remedy = {}}));
  });
  connect(&own_, &OwnComputerQuestion::answered, this, &ExplorePage::start_job);
  const auto refuse = [this](const QString& why) {
    take(fail({.kind = ErrorKind::kEnvironment, .what = why.toStdString(), .where = {}, .remedy = {}}));
    card_->show_working(false);
  };
  connect(&own_, &OwnComputerQuestion::refused, this, refuse);
  connect(&program_, &EngineCall::finished, this, &ExplorePage::take_told);
  connect(&program_, &EngineCall::refused, this, refuse);
  connect(over_time_button_, &QPushButton::clicked, this, &ExplorePage::show_over_time);
  connect(&over_time_, &EngineCall::refused, this,
          [this](const QString& why) { Q_EMIT failed(say("Cannot draw the step"), why); });
  connect(&over_time_, &EngineCall::finished, this, [this](int code, const QByteArray&, const QByteArray& errors) {
    const QString path = folder_.filePath(QStringLiteral("step.plimsoll"));
    over_time_button_->setEnabled(true);
    if (code != 0 || !QFileInfo::exists(path))
      return Q_EMIT failed(say("Cannot draw the step"), say_program_error(errors));
    Q_EMIT openRequested(QStringLiteral("timeline"), path);
  });
}

QString ExplorePage::title() const { return say("Explore"); }

void ExplorePage::retranslate() {
  form_->retranslate();
  form_->show_choices(choices_);
  card_->retranslate();
  load_line_->retranslate();
  scatter_->retranslate();
  alternatives_->retranslate();
  load_heading_->setText(say("Load line: what lives where at the fullest moment"));
  scatter_heading_->setText(say("Strategies tried: time against memory"));
  details_->setTabText(0, say("Alternatives"));
  details_->setTabText(1, say("What would help"));
  details_->setTabText(2, say("Where the numbers are from"));
  over_time_button_->setText(say("Show over time"));
  over_time_button_->setToolTip(say("Draws this program's step, allocation by allocation, on the Timeline page"));
  table_->setAccessibleName(say("Alternatives"));
  help_->setAccessibleName(say("What would help"));
  notes_->setAccessibleName(say("Where the numbers are from"));
  show_notes();
  show_help();
  table_->resizeColumnsToContents();
}

void ExplorePage::apply_theme(const Theme& theme) {
  card_->apply_theme(theme);
  load_line_->apply_theme(theme);
  scatter_->apply_theme(theme);
  show_notes();
  show_help();
}

bool ExplorePage::busy() const { return pause_.isActive() || job_.busy() || own_.busy() || program_.busy() || over_time_.busy(); }

std::vector<NamedTable> ExplorePage::tables() const { return {{QStringLiteral("alternatives"), alternatives_}}; }

bool ExplorePage::open_training_file(const QString& path) {
  if (!names_training_file(path.toStdString())) return false;
  const auto read = with_training_file(choices_, path);
  if (read) choose(*read, QStringLiteral("file"));
  else Q_EMIT failed(say("Cannot read the training file"), say_engine(read.error().text()));
  return true;
}

bool ExplorePage::open_file(const QString& path) {
  if (open_training_file(path)) return true;
  const QFileInfo file(path);
  const QString ending = file.suffix().toLower();
  const bool folder =
      file.isDir() && (QFileInfo(path + "/config.json").isFile() || QFileInfo(path + "/model.safetensors").isFile());
  if (!folder && ending != "safetensors" && file.fileName() != "config.json") return false;
  Choices choices = choices_;
  choices.model = file.absoluteFilePath();
  choose(choices, QStringLiteral("model"));
  return true;
}

void ExplorePage::browse() {
  const QString path =
      QFileDialog::getOpenFileName(this, say("Choose a model file"), {}, say("Models and training files (config.json *.safetensors *.yaml *.yml)"));
  if (!path.isEmpty()) open_file(path);
}

void ExplorePage::choose(const Choices& choices, const QString& what) {
  if (choices == choices_) return;
  context_.undo.push(
      new ChangeCommand(this, &ExplorePage::set_choices, choices_, choices, what, static_cast<int>(ChangeId::kExplore)));
}

void ExplorePage::take_name(const QString& link) {
  Choices choices = choices_;
  const bool model = link.startsWith(QLatin1String("model:"));
  (model ? choices.model : choices.gpu) = link.section(':', 1);
  choose(choices, QStringLiteral("taken"));
}

void ExplorePage::choose_strategy(const Strategy& strategy) {
  Choices choices = choices_;
  if (verdict_ && !verdict_->plan) {
    const auto& others = verdict_->told.alternatives;
    const auto other = std::find_if(others.begin(), others.end(), [&](const auto& a) { return a.strategy == strategy.name; });
    if (other == others.end()) return;
    choices.layout = verdict_->layouts[static_cast<std::size_t>(other - others.begin())];
  } else {
    choices.exact = strategy;
  }
  choose(choices, QStringLiteral("picked"));
}

void ExplorePage::set_choices(const Choices& choices) {
  choices_ = choices;
  form_->show_choices(choices);
  replan();
}

void ExplorePage::replan() {
  card_->show_working(true);
  if (choices_.gpu == QLatin1String("this")) own_.ask(choices_);
  pause_.start();
}

void ExplorePage::start_job() {
  if (choices_.gpu == QLatin1String("this") && !own_.answer()) return;
  const std::optional<OwnComputer> own = choices_.gpu == QLatin1String("this") ? own_.answer() : std::nullopt;
  program_.cancel();
  if (asks_program(choices_)) return ask_program(choices_);
  const std::optional<Strategy> known = verdict_ && verdict_->plan ? std::optional(verdict_->plan->plan.strategy) : std::nullopt;
  job_.start([this, choices = choices_, own, known](const Stop& stop, const LatestJob::Deliver& deliver) {
    if (falls_back_to_pytorch(choices)) return deliver([this, choices] { ask_program(under_pytorch(choices)); });
    const auto problem = make_problem(choices, own ? &*own : nullptr);
    if (!problem) return deliver([this, error = problem.error()] { take(fail(error)); });
    if (known && !choices.exact) {
      const auto first = first_look(*problem, *known, stop);
      if (first) deliver([this, first] { take(first); });  // where it cannot be lowered here the search says why
    }
    const auto answer = full_answer(*problem, choices, stop);
    deliver([this, answer] { take(answer); });
  });
}

void ExplorePage::ask_program(const Choices& asked) {
  job_.cancel();
  asked_ = asked;
  program_.start(QStringList{"fit"} + fit_options(asked) + QStringList{"--json"});
}

/// That nothing fits is an answer, too.
void ExplorePage::take_told(int code, const QByteArray& output, const QByteArray& errors) {
  card_->show_working(false);
  constexpr int kFits = 0, kDoesNotFit = 3;
  if (code == kFits || code == kDoesNotFit) return take(read_told(output, asked_, asked_.stack != choices_.stack));
  take(fail({.kind = ErrorKind::kInput, .what = program_error(errors).toStdString(), .where = {}, .remedy = {}}));
}

void ExplorePage::show_over_time() {
  if (!verdict_ || verdict_->asked.isEmpty()) return;
  over_time_button_->setEnabled(false);
  over_time_.start(QStringList{"plan"} + verdict_->asked +
                   QStringList{"-o", folder_.filePath("step.json"), "--timeline", folder_.filePath("step.plimsoll")});
}

void ExplorePage::cancel_search() {
  pause_.stop();
  job_.cancel();
  program_.cancel();
  card_->show_working(false);
}

void ExplorePage::take(const Result<SharedVerdict>& verdict) {
  if (!verdict) {
    if (verdict.error().kind == ErrorKind::kInterrupted) return;
    verdict_ = nullptr;
    problem_ = QString::fromStdString(verdict.error().text());
    card_->show_error(problem_);
    Q_EMIT planChosen(nullptr, {});
    return show_verdict();
  }
  verdict_ = *verdict;
  problem_.clear();
  card_->show_verdict(verdict_, choices_.tokens);
  show_verdict();
  if (verdict_->searched) Q_EMIT planChosen(verdict_->plan, verdict_->asked);
  Q_EMIT verdictShown(verdict_->searched);
}

void ExplorePage::show_verdict() {
  const bool any = verdict_ != nullptr;
  load_line_->show_memory(any ? verdict_->answer().memory : std::vector<SpaceAnswer>());
  const bool drawable = any && !verdict_->plan && verdict_->answer().stack != "plimsoll";
  details_->setCornerWidget(drawable ? over_time_button_ : nullptr);  // a hidden one leaves a line in its place
  over_time_button_->setVisible(drawable);
  if (!any || verdict_->searched) {
    alternatives_->show_verdict(verdict_);
    table_->resizeColumnsToContents();
    const Bytes usable = any && !verdict_->answer().memory.empty() ? verdict_->answer().memory.front().usable : Bytes(0);
    scatter_->show_points(any ? scatter_points(*verdict_) : std::vector<ScatterPoint>(), usable,
                          any ? verdict_->answer().strategy : Strategy());
    show_help();
  }
  show_notes();
}

void ExplorePage::show_help() { help_->setHtml(verdict_ ? help_text(*verdict_) : QString()); }

void ExplorePage::show_notes() { notes_->setHtml(verdict_ ? origin_text(*verdict_, choices_.file_notes) : QString()); }

}  // namespace plimsoll::gui
