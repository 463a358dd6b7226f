#include "gui/run/run_form.h"

#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "core/model/optimizer.h"
#include "gui/app/plan_file.h"
#include "gui/fields/form_card.h"
#include "gui/fields/step_field.h"
#include "gui/language/say.h"

namespace plimsoll::gui {

RunForm::RunForm(QWidget* parent)
    : QWidget(parent), what_card_(new FormCard(to_say("What to train"))), how_card_(new FormCard(to_say("How, and within which memory"))) {
  make_what_card();
  make_how_card();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addWidget(what_card_);
  column->addWidget(how_card_);
  setFocusProxy(model_);
}

void RunForm::tell(const char* what) {
  if (!signalsBlocked()) Q_EMIT changed(choices_, QString::fromLatin1(what));
}

void RunForm::bind_text(QLineEdit* field, QString RunChoices::*member, const char* what) {
  field->setObjectName(QStringLiteral("run.") + what);
  connect(field, &QLineEdit::editingFinished, this, [this, field, member, what] {
    if (choices_.*member == field->text()) return;
    choices_.*member = field->text();
    tell(what);
  });
}

template <typename Member>
void RunForm::bind_number(StepField* field, Member RunChoices::*member, const char* what) {
  field->setObjectName(QStringLiteral("run.") + what);
  connect(field, &StepField::changed, this, [this, member, what](double value) { choices_.*member = static_cast<Member>(value), tell(what); });
}

QWidget* RunForm::make_path_field(QLineEdit* field, QString RunChoices::*member, const char* what, bool folder) {
  bind_text(field, member, what);
  auto* row = new QWidget;
  auto* line = new QHBoxLayout(row);
  line->setContentsMargins(0, 0, 0, 0);
  auto* browse = new QToolButton;
  browse->setText(QStringLiteral("…"));
  browse_.push_back(browse);
  line->addWidget(field, 1);
  line->addWidget(browse);
  row->setFocusProxy(field);
  connect(browse, &QToolButton::clicked, this, [this, field, member, what, folder] {
    const QString path = folder ? QFileDialog::getExistingDirectory(this, say("Choose a folder for run files"), choices_.*member)
                                : QFileDialog::getOpenFileName(this, say("Choose a file to train on"));
    if (path.isEmpty()) return;
    field->setText(path);
    choices_.*member = path;
    tell(what);
  });
  return row;
}

void RunForm::make_what_card() {
  model_ = new QLineEdit;
  data_ = new QLineEdit;
  folder_ = new QLineEdit;
  steps_ = new StepField({1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000});
  bind_text(model_, &RunChoices::model, "model");
  what_card_->add(to_say("Model"), model_);
  what_card_->add(to_say("Data"), make_path_field(data_, &RunChoices::data, "data", false));
  what_card_->add(to_say("Run files"), make_path_field(folder_, &RunChoices::folder, "folder", true));
  make_backend_field();
  what_card_->add(to_say("Steps"), steps_);
  bind_number(steps_, &RunChoices::steps, "steps");
}

void RunForm::make_backend_field() {
  backend_ = new QComboBox;
  backend_->setObjectName("run.backend");
  for (const char* name : {"cpu", "cuda"}) backend_->addItem(QString(), QString::fromLatin1(name));
  what_card_->add(to_say("Runs on"), backend_);
  connect(backend_, &QComboBox::activated, this, [this] { choices_.backend = backend_->currentData().toString(), tell("backend"); });
}

void RunForm::make_how_card() {
  batch_ = new StepField(doubling(1, 1024));
  accumulate_ = new StepField(doubling(1, 256));
  sequence_ = new StepField({0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096});
  device_memory_ = new StepField(doubling(1, 65536));
  ram_ = new StepField(doubling(1, 1024));
  optimizer_ = new QComboBox;
  for (const QString& name : QString::fromStdString(optimizer_names()).split(QStringLiteral(", "))) optimizer_->addItem(name, name);
  learning_rate_ = new QLineEdit;
  how_card_->add(to_say("Batch"), batch_);
  how_card_->add(to_say("Accumulate"), accumulate_);
  how_card_->add(to_say("Sequence"), sequence_);
  how_card_->add(to_say("Device arena"), device_memory_);
  how_card_->add(to_say("RAM"), ram_);
  how_card_->add(to_say("Optimizer"), optimizer_);
  how_card_->add(to_say("Learning rate"), learning_rate_);
  bind_number(batch_, &RunChoices::batch, "batch");
  bind_number(accumulate_, &RunChoices::accumulate, "accumulate");
  bind_number(sequence_, &RunChoices::sequence, "sequence");
  bind_number(device_memory_, &RunChoices::device_memory_mib, "device_memory");
  bind_number(ram_, &RunChoices::ram_gib, "ram");
  connect(optimizer_, &QComboBox::activated, this, [this] { choices_.optimizer = optimizer_->currentData().toString(), tell("optimizer"); });
  learning_rate_->setObjectName("run.learning_rate");
  connect(learning_rate_, &QLineEdit::editingFinished, this, [this] {
    bool read = false;
    const double rate = learning_rate_->text().toDouble(&read);
    const double wanted = read && rate > 0 ? rate : 0;
    if (wanted == choices_.learning_rate) return;
    choices_.learning_rate = wanted;
    tell("learning_rate");
  });
}

void RunForm::show_choices(const RunChoices& choices) {
  const QSignalBlocker quiet(this);
  model_->setText(choices.model);
  model_->setCursorPosition(0);
  data_->setText(choices.data);
  folder_->setText(choices.folder);
  folder_->setCursorPosition(0);
  data_->setCursorPosition(0);
  steps_->show_value(static_cast<double>(choices.steps));
  batch_->show_value(static_cast<double>(choices.batch));
  accumulate_->show_value(static_cast<double>(choices.accumulate));
  sequence_->show_value(static_cast<double>(choices.sequence));
  device_memory_->show_value(choices.device_memory_mib);
  ram_->show_value(choices.ram_gib);
  optimizer_->setCurrentIndex(std::max(0, optimizer_->findData(choices.optimizer)));
  backend_->setCurrentIndex(std::max(0, backend_->findData(choices.backend)));
  learning_rate_->setText(choices.learning_rate > 0 ? QString::number(choices.learning_rate, 'g', 6) : QString());
  for (QWidget* field : {static_cast<QWidget*>(batch_), static_cast<QWidget*>(accumulate_), static_cast<QWidget*>(sequence_),
                         static_cast<QWidget*>(device_memory_), static_cast<QWidget*>(ram_), static_cast<QWidget*>(optimizer_),
                         static_cast<QWidget*>(learning_rate_)}) {
    field->setEnabled(!is_plan_file(choices.model));  // a finished plan says these itself
  }
  for (StepField* field : {device_memory_, ram_}) field->setEnabled(field->isEnabled() && choices.backend == "cpu");
  choices_ = choices;
}

void RunForm::retranslate() {
  const QSignalBlocker quiet(this);
  backend_->setItemText(0, say("the CPU"));
  backend_->setItemText(1, say("the GPU that is here (CUDA)"));
  what_card_->retranslate();
  how_card_->retranslate();
  device_memory_->set_words(QStringLiteral(" MiB"), {});
  ram_->set_words(QStringLiteral(" GiB"), {});
  sequence_->set_words({}, say("usual"));
  learning_rate_->setPlaceholderText(say("the optimizer's own"));
  data_->setPlaceholderText(say("text, tokens or images"));
  model_->setToolTip(say("a name, a shape in words, a folder with weights, or a plan file"));
  model_->setAccessibleName(say("Model"));
  data_->setAccessibleName(say("Data"));
  folder_->setAccessibleName(say("Run files"));
  for (QToolButton* browse : browse_) browse->setAccessibleName(say("Choose…")), browse->setToolTip(say("Choose…"));
  const std::pair<StepField*, const char*> named[] = {
      {steps_, to_say("Steps")}, {batch_, to_say("Batch")}, {accumulate_, to_say("Accumulate")}, {sequence_, to_say("Sequence")},
      {device_memory_, to_say("Device arena")}, {ram_, to_say("RAM")}};
  for (const auto& [field, name] : named) field->set_name(say(name));
}

}  // namespace plimsoll::gui
