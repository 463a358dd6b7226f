#include "gui/pipelines/pipeline_page.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QUndoStack>

#include <algorithm>

#include "formats/schedules/schedule_file.h"
#include "formats/text/write_text_file.h"
#include "gui/app/change_command.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/pipelines/pipeline_form.h"
#include "gui/timeline/legend.h"
#include "sim/schedule/draw_schedule.h"

namespace plimsoll::gui {
namespace {

constexpr int kFormWidth = 310;
constexpr std::size_t kFigures = 4;

template <typename Write>
Result<void> written(const Write& write) {
  try {
    write();
    return {};
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

tl::unexpected<Error> nothing_drawn() {
  return fail({.kind = ErrorKind::kInput, .what = "there is no schedule to write", .remedy = "choose one that can be"});
}

}  // namespace

PipelinePage::PipelinePage(const PageContext& context)
    : undo_(context.undo),
      theme_(context.theme),
      job_(new LatestJob(this)),
      form_(new PipelineForm),
      view_(new PipelineView),
      legend_(new LegendBar),
      trouble_(new QLabel),
      open_(new QPushButton),
      svg_(new QPushButton),
      csv_(new QPushButton) {
  auto* left = new QWidget;
  left->setFixedWidth(kFormWidth);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(form_);
  column->addWidget(make_buttons());
  column->addStretch(1);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(14, 12, 14, 10);
  row->setSpacing(12);
  row->addWidget(left);
  row->addWidget(make_right(), 1);
  connect(job_, &LatestJob::broke, this, [this](const QString& why) { Q_EMIT failed(say("Cannot draw the schedule"), why); });
  connect(form_, &PipelineForm::changed, this, &PipelinePage::choose);
  retime();
}

QWidget* PipelinePage::make_buttons() {
  auto* buttons = new QWidget;
  auto* row = new QHBoxLayout(buttons);
  row->setContentsMargins(0, 0, 0, 0);
  for (QPushButton* button : {open_, svg_, csv_}) row->addWidget(button);
  connect(open_, &QPushButton::clicked, this, [this] {
    const QString path = QFileDialog::getOpenFileName(this, say("Open orders of a pipeline"), {}, say("Orders (*.json *.csv)"));
    if (!path.isEmpty()) open_file(path);
  });
  connect(svg_, &QPushButton::clicked, this, [this] { save(true); });
  connect(csv_, &QPushButton::clicked, this, [this] { save(false); });
  return buttons;
}

QWidget* PipelinePage::make_figures() {
  auto* strip = new QWidget;
  auto* row = new QHBoxLayout(strip);
  row->setContentsMargins(8, 2, 8, 2);
  row->setSpacing(36);
  for (std::size_t i = 0; i < kFigures; ++i) {
    auto* value = new QLabel;
    auto* name = new QLabel;
    QFont large = value->font();
    large.setPointSizeF(large.pointSizeF() * 1.6);
    large.setWeight(QFont::DemiBold);
    value->setFont(large);
    name->setProperty("quiet", true);
    auto* cell = new QVBoxLayout;
    cell->setSpacing(0);
    cell->addWidget(value);
    cell->addWidget(name);
    row->addLayout(cell);
    figures_.push_back(value);
    figures_.push_back(name);
  }
  row->addStretch(1);
  return strip;
}

QWidget* PipelinePage::make_right() {
  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* inside = new QVBoxLayout(frame);
  inside->setContentsMargins(10, 10, 10, 8);
  trouble_->setWordWrap(true);
  trouble_->hide();
  inside->addWidget(make_figures());
  auto* key = new QHBoxLayout;
  key->setContentsMargins(8, 4, 8, 0);
  key->addWidget(legend_);
  inside->addLayout(key);
  inside->addWidget(trouble_);
  inside->addWidget(view_, 1);
  column->addWidget(frame, 1);
  return right;
}

QString PipelinePage::title() const { return say("Pipelines"); }

void PipelinePage::retranslate() {
  form_->retranslate();
  view_->retranslate();
  view_->setAccessibleName(say("Pipeline schedule: W and S zoom, A and D pan"));
  open_->setText(say("Open…"));
  svg_->setText(say("Save SVG…"));
  csv_->setText(say("Save CSV…"));
  legend_->show_entries({{work_colour(theme_, PipelineWork::kForward, 0), say("F  forward")},
                         {work_colour(theme_, PipelineWork::kBackward, 0), say("B  backward: both gradients")},
                         {work_colour(theme_, PipelineWork::kInputGradient, 0), say("I  gradient of the inputs")},
                         {work_colour(theme_, PipelineWork::kWeightGradient, 0), say("W  gradient of the weights")}});
  tell_figures();
}

void PipelinePage::apply_theme(const Theme& theme) {
  theme_ = theme;
  view_->apply_theme(theme);
  trouble_->setStyleSheet(QStringLiteral("color: %1").arg(theme.bad.name()));
  retranslate();
}

void PipelinePage::choose(const PipelineChoices& choices, const QString& what) {
  if (choices == choices_) return;
  undo_.push(
      new ChangeCommand(this, &PipelinePage::set_choices, choices_, choices, what, static_cast<int>(ChangeId::kPipelines)));
}

void PipelinePage::set_choices(const PipelineChoices& choices) {
  choices_ = choices;
  form_->show_choices(choices);
  retime();
}

void PipelinePage::retime() {
  const PipelineChoices choices = choices_;
  job_->start([this, choices](const Stop&, const LatestJob::Deliver& deliver) {
    auto timed = time_pipeline(choices);
    Result<SharedPipeline> shared = timed ? Result<SharedPipeline>(std::make_shared<const TimedPipeline>(std::move(*timed)))
                                          : Result<SharedPipeline>(fail(timed.error()));
    deliver([this, shared] { take(shared); });
  });
}

void PipelinePage::take(const Result<SharedPipeline>& timed) {
  trouble_->setVisible(!timed.has_value());
  if (timed) {
    view_->show_pipeline(*timed);
  } else {
    trouble_->setText(say_engine(timed.error().text()));
    view_->show_pipeline(nullptr);
  }
  tell_figures();
}

void PipelinePage::tell_figures() {
  const SharedPipeline& shown = pipeline();
  const auto set = [this](std::size_t at, const QString& value, const QString& words) {
    figures_[2 * at]->setText(value);
    figures_[2 * at + 1]->setText(words);
  };
  const auto number = [](double value) { return QLocale().toString(value, 'g', 4); };
  const auto percent = [](double share) { return QLocale().toString(100 * share, 'f', 1) + QStringLiteral(" %"); };
  const QString none = QStringLiteral("–");
  const auto most = [](const auto& values) { return static_cast<double>(*std::max_element(values.begin(), values.end())); };
  set(0, shown ? number(shown->costs.units(shown->timing.makespan)) : none, say("makespan"));
  set(1, shown ? percent(shown->timing.bubble_fraction()) : none, say("bubbles: idle share of all ranks"));
  set(2, shown ? number(most(shown->peak_activations)) : none, say("most activations, in micro-batches"));
  set(3, shown ? number(most(shown->weight_versions)) : none, say("most versions of the weights"));
}

QString PipelinePage::summary() const {
  if (trouble_->isVisibleTo(this)) return trouble_->text();
  QStringList words;
  for (const QLabel* label : figures_) words += label->text();
  return words.join(' ');
}

bool PipelinePage::open_file(const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  if (ending != "csv" && ending != "json") return false;
  const auto read = read_schedule_file(path.toStdString());
  if (!read) {
    if (!isVisible()) return false;  // another page may know it
    Q_EMIT failed(say("Cannot read the orders"), say_engine(read.error().text()));
    return true;
  }
  PipelineChoices choices = choices_;
  choices.file = path;
  choose(choices, QStringLiteral("file"));
  return true;
}

Result<void> PipelinePage::write_svg(const QString& path) const {
  const SharedPipeline& shown = pipeline();
  if (shown == nullptr) return nothing_drawn();
  return written([&] { write_text_file(path.toStdString(), draw_svg(shown->schedule, shown->costs, shown->timing)); });
}

Result<void> PipelinePage::write_csv(const QString& path) const {
  const SharedPipeline& shown = pipeline();
  if (shown == nullptr) return nothing_drawn();
  return written([&] { write_text_file(path.toStdString(), schedule_csv(shown->schedule)); });
}

void PipelinePage::save(bool svg) {
  const QString suggested = choices_.schedule + (svg ? QStringLiteral(".svg") : QStringLiteral(".csv"));
  const QString path = QFileDialog::getSaveFileName(this, svg ? say("Save the drawing") : say("Save the orders"), suggested);
  if (path.isEmpty()) return;
  const Result<void> done = svg ? write_svg(path) : write_csv(path);
  if (done) {
    Q_EMIT said(say("Wrote %1").arg(path));
  } else {
    Q_EMIT failed(say("Cannot write the file"), say_engine(done.error().text()));
  }
}

std::unique_ptr<Page> make_pipeline_page(const PageContext& context) { return std::make_unique<PipelinePage>(context); }

}  // namespace plimsoll::gui
