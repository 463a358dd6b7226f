#include "gui/explore/choice_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <string_view>

#include "formats/machines/gpu_catalogue.h"
#include "formats/models/model_zoo.h"
#include "gui/explore/offered_values.h"
#include "gui/explore/strategy_fields.h"
#include "gui/explore/words.h"
#include "gui/fields/form_card.h"
#include "gui/fields/name_field.h"
#include "gui/fields/step_field.h"
#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

QStringList model_names() {
  QStringList names;
  for (const ZooModel& model : built_in_zoo()) names << QString::fromStdString(model.name);
  return names;
}

QStringList gpu_names() {
  QStringList names{QStringLiteral("this")};
  for (const GpuEntry& gpu : built_in_gpu_catalogue()) names << QString::fromStdString(gpu.name);
  return names;
}

/// A list of which each entry has a value beside its text.
QComboBox* list_of(std::initializer_list<const char*> values) {
  auto* list = new QComboBox;
  for (const char* value : values) list->addItem(QString::fromLatin1(value), QString::fromLatin1(value));
  return list;
}

/// As parse_count reads it, without loss of what people write: "1.5B".
QString short_count(double count) {
  const std::pair<double, const char*> units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}};
  for (const auto& [size, name] : units) {
    if (count >= size) return QString::number(count / size, 'g', 9) + QString::fromLatin1(name);
  }
  return QString::number(count, 'g', 9);
}

/// Fills a list anew and picks one of its values.
void fill(QComboBox* list, const QStringList& values, const QString& chosen) {
  list->clear();
  for (const QString& value : values) list->addItem(value, value);
  list->setCurrentIndex(std::max(0, list->findData(chosen)));
}

}  // namespace

ChoiceForm::ChoiceForm(QWidget* parent)
    : QWidget(parent),
      model_card_(new FormCard(to_say("Model"))),
      machine_card_(new FormCard(to_say("Machine"))),
      training_card_(new FormCard(to_say("Training"))),
      program_card_(new FormCard(to_say("Program"))),
      strategy_card_(new FormCard(to_say("Strategy"))) {
  make_model_card();
  make_machine_card();
  make_training_card();
  make_program_card();
  make_strategy_card();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 4, 0);
  column->setSpacing(10);
  for (FormCard* card : {model_card_, machine_card_, training_card_, program_card_, strategy_card_}) column->addWidget(card);
  column->addStretch();
  setFocusProxy(model_);
}

/// Another model or number of GPUs has other layouts, another program takes other values.
void ChoiceForm::tell(const char* what) {
  const std::string_view field(what);
  if (field == "gpus" || field == "model") choices_.layout.clear();
  if (field == "stack") choices_ = with_taken_values(choices_);
  if (!signalsBlocked()) Q_EMIT changed(choices_, QString::fromLatin1(what));
}

template <typename Field, typename Member>
void ChoiceForm::bind_number(Field* field, Member Choices::*member, const char* what) {
  field->setObjectName(QString::fromLatin1(what));
  connect(field, &Field::changed, this,
          [this, member, what](double value) { choices_.*member = static_cast<Member>(value), tell(what); });
}

void ChoiceForm::bind_list(QComboBox* list, QString Choices::*member, const char* what) {
  list->setObjectName(QString::fromLatin1(what));
  connect(list, &QComboBox::activated, this,
          [this, list, member, what] { choices_.*member = list->currentData().toString(), tell(what); });
}

void ChoiceForm::bind_text(QLineEdit* line, QString Choices::*member, const char* what) {
  line->setObjectName(QString::fromLatin1(what));
  connect(line, &QLineEdit::editingFinished, this, [this, line, member, what] {
    const QString text = line->text().trimmed();
    if (text != choices_.*member) choices_.*member = text, tell(what);
  });
}

void ChoiceForm::make_model_card() {
  model_ = new NameField(model_names());
  model_->setObjectName("model");
  auto* browse = new QToolButton;
  browse->setText(QStringLiteral("…"));
  browse->setObjectName("browse");
  auto* row = new QWidget;
  auto* line = new QHBoxLayout(row);
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(model_, 1);
  line->addWidget(browse);
  row->setFocusProxy(model_);
  model_card_->add_wide(row);
  connect(model_, &NameField::changed, this, [this](const QString& name) { choices_.model = name, tell("model"); });
  connect(browse, &QToolButton::clicked, this, &ChoiceForm::browseRequested);
}

void ChoiceForm::make_machine_card() {
  gpu_ = new NameField(gpu_names());
  gpu_->setObjectName("gpu");
  gpus_ = new StepField(doubling(1, 4096));
  ram_ = new StepField(doubling(4, 4096));
  ssd_ = new StepField({0, 50, 100, 200, 500, 1000, 2000, 4000, 8000, 16000, 32000});
  pcie_ = list_of({"", "3x4", "3x8", "3x16", "4x4", "4x8", "4x16", "5x8", "5x16"});
  device_memory_ = new StepField(doubling(0, 256));
  os_ = list_of({"", "wsl2", "windows"});
  desktop_ = new QCheckBox;
  machine_card_->add(to_say("GPU"), gpu_);
  machine_card_->add(to_say("How many"), gpus_);
  machine_card_->add(to_say("RAM"), ram_);
  machine_card_->add(to_say("SSD"), ssd_);
  machine_card_->add(to_say("PCIe"), pcie_);
  machine_card_->add(to_say("Cap"), device_memory_);
  machine_card_->add(to_say("System"), os_);
  machine_card_->add_wide(desktop_);
  connect(gpu_, &NameField::changed, this, [this](const QString& name) {
    choices_ = with_gpus(choices_, name == gpu_->itemText(0) ? QStringLiteral("this") : name);
    tell("gpu");
  });
  bind_number(gpus_, &Choices::gpus, "gpus");
  bind_number(ram_, &Choices::ram_gib, "ram");
  bind_number(ssd_, &Choices::ssd_gb, "ssd");
  bind_number(device_memory_, &Choices::device_memory_gib, "device_memory");
  bind_list(pcie_, &Choices::pcie, "pcie");
  bind_list(os_, &Choices::os, "os");
  desktop_->setObjectName("desktop");
  connect(desktop_, &QCheckBox::toggled, this, [this](bool on) { choices_.desktop = on, tell("desktop"); });
}

void ChoiceForm::make_training_card() {
  batch_ = new StepField(doubling(1, 4096));
  accumulate_ = new StepField(doubling(1, 1024));
  sequence_ = new StepField({0, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072});
  precision_ = new QComboBox, optimizer_ = new QComboBox;
  lora_ = new StepField(doubling(0, 512));
  lora_targets_ = new QLineEdit;
  base_bits_ = list_of({"", "16", "8", "4"});
  tokens_ = new QLineEdit;
  training_card_->add(to_say("Batch"), batch_);
  training_card_->add(to_say("Accumulate"), accumulate_);
  training_card_->add(to_say("Sequence"), sequence_);
  training_card_->add(to_say("Precision"), precision_);
  training_card_->add(to_say("Optimizer"), optimizer_);
  training_card_->add(to_say("LoRA rank"), lora_);
  training_card_->add(to_say("Beside"), lora_targets_);
  training_card_->add(to_say("Base"), base_bits_);
  training_card_->add(to_say("Tokens"), tokens_);
  bind_number(batch_, &Choices::batch, "batch");
  bind_number(accumulate_, &Choices::accumulate, "accumulate");
  bind_number(sequence_, &Choices::sequence, "sequence");
  bind_number(lora_, &Choices::lora_rank, "lora");
  bind_text(lora_targets_, &Choices::lora_targets, "lora_targets");
  bind_list(precision_, &Choices::precision, "precision");
  bind_list(optimizer_, &Choices::optimizer, "optimizer");
  base_bits_->setObjectName("base_bits");
  connect(base_bits_, &QComboBox::activated, this,
          [this] { choices_.base_bits = base_bits_->currentData().toInt(), tell("base_bits"); });
  tokens_->setObjectName("tokens");
  connect(tokens_, &QLineEdit::editingFinished, this, [this] {
    const auto count = tokens_->text().isEmpty() ? std::optional<double>(0) : parse_count(tokens_->text());
    if (!count || *count == choices_.tokens) return;
    choices_.tokens = *count;
    tell("tokens");
  });
}

/// Who trains, and how several GPUs share the work; of rows only those that the program has are shown.
void ChoiceForm::make_program_card() {
  stack_ = list_of({"plimsoll", "pytorch", "deepspeed", "colossalai", "megatron", "llm.c"});
  modules_ = list_of({"", "huggingface", "nanogpt", "mosaic", "litgpt", "torchtune", "megatron", "torchvision", "timm", "unsloth"});
  preferences_ = list_of({"", "dpo", "kto", "grpo"});
  recompute_ = list_of({"", "none", "selective", "full"});
  zero_ = new QComboBox;
  offload_ = list_of({"", "optimizer:cpu", "params:cpu", "params:cpu,optimizer:cpu", "optimizer:ssd", "params:ssd,optimizer:ssd",
                      "activations:cpu"});
  tensor_ranks_ = new StepField(doubling(0, 64));
  stages_ = new StepField(doubling(0, 128));
  expert_ranks_ = new StepField(doubling(0, 256));
  sequence_parallel_ = new QCheckBox;
  global_batch_ = new StepField(doubling(0, 16384));
  layout_ = new QComboBox;
  layout_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  compile_ = new QCheckBox(QStringLiteral("torch.compile"));
  program_card_->add(to_say("Trained by"), stack_);
  program_card_->add(to_say("Layers of"), modules_);
  program_card_->add(to_say("Learns from"), preferences_);
  program_card_->add(to_say("Layout"), layout_);
  program_card_->add(to_say("Recompute"), recompute_);
  program_card_->add(to_say("ZeRO"), zero_);
  program_card_->add(to_say("Offload"), offload_);
  program_card_->add(to_say("Tensor"), tensor_ranks_);
  program_card_->add(to_say("Stages"), stages_);
  program_card_->add(to_say("Experts"), expert_ranks_);
  program_card_->add(to_say("All batches"), global_batch_);
  network_ = new QLineEdit;
  program_card_->add(to_say("Network"), network_);
  more_ = new QLineEdit;
  program_card_->add(to_say("More"), more_);
  program_card_->add_wide(sequence_parallel_);
  program_card_->add_wide(compile_);
  connect_program_card();
}

void ChoiceForm::connect_program_card() {
  bind_list(stack_, &Choices::stack, "stack");
  bind_list(modules_, &Choices::modules, "modules");
  bind_list(preferences_, &Choices::preferences, "preferences");
  bind_list(recompute_, &Choices::recompute, "recompute");
  bind_list(zero_, &Choices::zero, "zero");
  bind_list(offload_, &Choices::offload, "offload");
  bind_text(network_, &Choices::network, "network");
  bind_text(more_, &Choices::more, "more");
  bind_number(tensor_ranks_, &Choices::tensor_ranks, "tp");
  bind_number(stages_, &Choices::stages, "pp");
  bind_number(expert_ranks_, &Choices::expert_ranks, "ep");
  bind_number(global_batch_, &Choices::global_batch, "global_batch");
  sequence_parallel_->setObjectName("sequence_parallel");
  connect(sequence_parallel_, &QCheckBox::toggled, this,
          [this](bool on) { choices_.sequence_parallel = on, tell("sequence_parallel"); });
  compile_->setObjectName("compile");
  connect(compile_, &QCheckBox::toggled, this, [this](bool on) { choices_.compile = on, tell("compile"); });
  layout_->setObjectName("layout");
  connect(layout_, &QComboBox::activated, this, [this](int index) {
    if (index > 0 || choices_.layout.isEmpty()) return;
    choices_.layout.clear();
    tell("layout");
  });
}

void ChoiceForm::offer_values(const Choices& choices) {
  fill(precision_, offered_precisions(choices), choices.precision);
  fill(optimizer_, offered_optimizers(choices), choices.optimizer);
  fill(zero_, offered_zero_stages(choices), choices.zero);
  fill(strategy_, offered_strategies(choices), choices.exact ? QString::fromLatin1(kByHand) : choices.strategy);
  fill_lists();
}

void ChoiceForm::show_program(const Choices& choices) {
  const bool other = choices.stack != QLatin1String("plimsoll"), layouts = !other && asks_program(choices);
  const bool megatron = choices.stack == QLatin1String("megatron"), open = layouts && choices.layout.isEmpty();
  const bool chosen = other && !has_own_layers(choices);
  program_card_->set_row_visible(modules_, chosen);
  program_card_->set_row_visible(preferences_, may_prefer(choices));
  compile_->setVisible(chosen);
  program_card_->set_row_visible(offload_, chosen);
  program_card_->set_row_visible(layout_, layouts);
  program_card_->set_row_visible(recompute_, other || open);
  program_card_->set_row_visible(zero_, other || open);
  program_card_->set_row_visible(tensor_ranks_, megatron || open);
  program_card_->set_row_visible(stages_, megatron || open);
  program_card_->set_row_visible(expert_ranks_, (megatron || open) && offers_expert_ranks(choices));
  sequence_parallel_->setVisible(megatron && choices.tensor_ranks > 1);
  program_card_->set_row_visible(global_batch_, open);
  program_card_->set_row_visible(network_, layouts);
  program_card_->set_row_visible(more_, other || layouts);
  for (QWidget* around : std::initializer_list<QWidget*>{ram_, ssd_, pcie_, device_memory_})
    machine_card_->set_row_visible(around, !layouts);
  machine_card_->set_row_visible(os_, !layouts && choices.gpu != QLatin1String("this"));
  desktop_->setVisible(!layouts);
  training_card_->set_row_visible(batch_, choices.layout.isEmpty());
  training_card_->set_row_visible(accumulate_, !layouts);
  training_card_->set_row_visible(lora_, !layouts && offers_adapters(choices));
  for (QWidget* of_adapters : std::initializer_list<QWidget*>{lora_targets_, base_bits_})
    training_card_->set_row_visible(of_adapters, !layouts && choices.lora_rank > 0);
  strategy_card_->setVisible(!layouts && offered_strategies(choices).size() > 1);
  while (layout_->count() > 1) layout_->removeItem(1);
  if (layout_->count() == 0) layout_->addItem(QString());
  layout_->setItemText(0, say("the fastest that fits"));
  name_open(other);
  if (!choices.layout.isEmpty()) layout_->addItem(choices.layout.join(' '));
  layout_->setCurrentIndex(choices.layout.isEmpty() ? 0 : 1);
  layout_->setToolTip(choices.layout.join(' '));
}

void ChoiceForm::make_strategy_card() {
  strategy_ = new QComboBox;
  strategy_->setObjectName("strategy");
  by_hand_ = new StrategyFields;
  strategy_card_->add_wide(strategy_);
  strategy_card_->add_wide(by_hand_);
  connect(strategy_, &QComboBox::activated, this, [this] {
    const QString value = strategy_->currentData().toString();
    if (value == QLatin1String(kByHand)) {
      if (!choices_.exact) choices_.exact = Strategy{};
    } else {
      choices_.exact.reset();
      choices_.strategy = value;
    }
    tell("strategy");
  });
  connect(by_hand_, &StrategyFields::changed, this,
          [this](const Strategy& strategy) { choices_.exact = strategy, tell("by_hand"); });
}

void ChoiceForm::show_choices(const Choices& choices) {
  const QSignalBlocker quiet(this);
  choices_ = choices;
  const auto pick = [](QComboBox* list, const QString& value) {
    if (list->findData(value) < 0) list->addItem(value, value);  // of a file or the command line
    list->setCurrentIndex(list->findData(value));
  };
  model_->show_name(choices.model);
  gpu_->show_name(choices.gpu == QLatin1String("this") ? gpu_->itemText(0) : choices.gpu);
  gpus_->show_value(choices.gpus);
  ram_->show_value(choices.ram_gib);
  ssd_->show_value(choices.ssd_gb);
  device_memory_->show_value(choices.device_memory_gib);
  pick(pcie_, choices.pcie);
  pick(os_, choices.os);
  desktop_->setChecked(choices.desktop);
  batch_->show_value(static_cast<double>(choices.batch));
  accumulate_->show_value(static_cast<double>(choices.accumulate));
  sequence_->show_value(static_cast<double>(choices.sequence));
  lora_->show_value(static_cast<double>(choices.lora_rank));
  lora_targets_->setText(choices.lora_targets);
  lora_targets_->setCursorPosition(0);
  pick(base_bits_, choices.base_bits == 0 ? QString() : QString::number(choices.base_bits));
  tokens_->setText(choices.tokens > 0 ? short_count(choices.tokens) : QString());
  pick(stack_, choices.stack);
  pick(modules_, choices.modules);
  pick(preferences_, choices.preferences);
  compile_->setChecked(choices.compile);
  pick(recompute_, choices.recompute);
  pick(offload_, choices.offload);
  tensor_ranks_->show_value(static_cast<double>(choices.tensor_ranks));
  stages_->show_value(static_cast<double>(choices.stages));
  expert_ranks_->show_value(static_cast<double>(choices.expert_ranks));
  sequence_parallel_->setChecked(choices.sequence_parallel);
  global_batch_->show_value(static_cast<double>(choices.global_batch));
  network_->setText(choices.network);
  more_->setText(choices.more);
  more_->setCursorPosition(0);
  offer_values(choices);
  show_program(choices);
  by_hand_->setVisible(choices.exact.has_value() && choices.stack == QLatin1String("plimsoll"));
  if (choices.exact) by_hand_->show_strategy(*choices.exact);
  choices_ = choices;  // fields that were shown another value have written theirs
}

}  // namespace plimsoll::gui
