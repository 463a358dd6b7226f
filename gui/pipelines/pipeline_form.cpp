#include "gui/pipelines/pipeline_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "gui/fields/form_card.h"
#include "gui/fields/step_field.h"
#include "gui/language/say.h"
#include "gui/pipelines/schedule_words.h"
#include "sim/schedule/make_schedule.h"

namespace plimsoll::gui {
namespace {

QDoubleSpinBox* make_cost() {
  auto* box = new QDoubleSpinBox;
  box->setRange(0, 1000);
  box->setDecimals(3);
  box->setSingleStep(0.1);
  box->setKeyboardTracking(false);
  return box;
}

}  // namespace

PipelineForm::PipelineForm(QWidget* parent)
    : QWidget(parent),
      schedule_card_(new FormCard(to_say("Schedule"))),
      cost_card_(new FormCard(to_say("Times of one micro-batch"))) {
  make_schedule_card();
  make_cost_card();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(schedule_card_);
  column->addWidget(cost_card_);
  show_choices(choices_);
}

void PipelineForm::tell(const char* what) {
  if (!signalsBlocked()) Q_EMIT changed(choices_, QString::fromLatin1(what));
}

void PipelineForm::bind(StepField* field, int PipelineChoices::*member, const char* what) {
  field->setObjectName(QStringLiteral("pipelines.") + what);
  connect(field, &StepField::changed, this, [this, member, what](double value) {
    choices_.*member = static_cast<int>(value);
    choices_.file.clear();
    tell(what);
  });
}

void PipelineForm::bind(QDoubleSpinBox* field, double PipelineChoices::*member, const char* what) {
  field->setObjectName(QStringLiteral("pipelines.") + what);
  connect(field, &QDoubleSpinBox::valueChanged, this, [this, member, what](double value) {
    choices_.*member = value;
    tell(what);
  });
}

void PipelineForm::make_schedule_card() {
  schedule_ = new QComboBox;
  schedule_->setObjectName(QStringLiteral("pipelines.schedule"));
  for (const ScheduleKind& kind : schedule_kinds()) schedule_->addItem(QString::fromLatin1(kind.name));
  about_ = new QLabel;
  about_->setWordWrap(true);
  about_->setProperty("quiet", true);
  ranks_ = new StepField({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64});
  micro_batches_ = new StepField({1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256});
  chunks_ = new StepField({0, 1, 2, 3, 4, 5, 6, 7, 8});
  overlapped_ = new QCheckBox;
  schedule_card_->add(to_say("Name"), schedule_);
  schedule_card_->add_wide(about_);
  schedule_card_->add(to_say("Ranks"), ranks_);
  schedule_card_->add(to_say("Micro-batches"), micro_batches_);
  schedule_card_->add(to_say("Stages a rank"), chunks_);
  schedule_card_->add_wide(overlapped_);
  bind(ranks_, &PipelineChoices::ranks, "ranks");
  bind(micro_batches_, &PipelineChoices::micro_batches, "micro_batches");
  bind(chunks_, &PipelineChoices::chunks, "chunks");
  connect(schedule_, &QComboBox::currentTextChanged, this, [this](const QString& name) {
    choices_.schedule = name;
    choices_.chunks = 0;
    choices_.file.clear();
    tell("schedule");
  });
  connect(overlapped_, &QCheckBox::toggled, this, [this](bool on) {
    choices_.overlapped = on;
    tell("overlapped");
  });
}

void PipelineForm::make_cost_card() {
  forward_ = make_cost();
  input_ = make_cost();
  weight_ = make_cost();
  hop_ = make_cost();
  cost_card_->add(to_say("F  forward"), forward_);
  cost_card_->add(to_say("I  input grad."), input_);
  cost_card_->add(to_say("W  weight grad."), weight_);
  cost_card_->add(to_say("C  hop"), hop_);
  bind(forward_, &PipelineChoices::forward, "forward");
  bind(input_, &PipelineChoices::input_gradient, "input_gradient");
  bind(weight_, &PipelineChoices::weight_gradient, "weight_gradient");
  bind(hop_, &PipelineChoices::hop, "hop");
}

void PipelineForm::show_choices(const PipelineChoices& choices) {
  const QSignalBlocker quiet(this);
  choices_ = choices;
  schedule_->setCurrentText(choices.schedule);
  about_->setText(choices.file.isEmpty() ? schedule_words(choices.schedule) : say("Orders of %1").arg(choices.file));
  ranks_->show_value(choices.ranks);
  micro_batches_->show_value(choices.micro_batches);
  chunks_->show_value(choices.chunks);
  overlapped_->setChecked(choices.overlapped);
  overlapped_->setVisible(choices.schedule.startsWith(QLatin1String("dualpipe")));
  forward_->setValue(choices.forward);
  input_->setValue(choices.input_gradient);
  weight_->setValue(choices.weight_gradient);
  hop_->setValue(choices.hop);
  choices_ = choices;
}

void PipelineForm::retranslate() {
  schedule_card_->retranslate();
  cost_card_->retranslate();
  chunks_->set_words({}, say("as usual"));
  ranks_->set_name(say("Ranks"));
  micro_batches_->set_name(say("Micro-batches"));
  chunks_->set_name(say("Stages a rank"));
  overlapped_->setText(say("Forward and backward as one in the middle"));
  about_->setText(choices_.file.isEmpty() ? schedule_words(choices_.schedule) : say("Orders of %1").arg(choices_.file));
}

}  // namespace plimsoll::gui
