#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>

#include "gui/explore/choice_form.h"
#include "gui/explore/offered_values.h"
#include "gui/explore/strategy_fields.h"
#include "gui/fields/form_card.h"
#include "gui/fields/name_field.h"
#include "gui/fields/step_field.h"
#include "gui/language/say.h"

namespace plimsoll::gui {

void ChoiceForm::fill_lists() {
  gpu_->setItemText(0, say("this computer"));
  pcie_->setItemText(0, say("the GPU's own"));
  const char* const systems[] = {"Linux", "WSL2", "Windows"};
  for (int i = 0; i < os_->count(); ++i) os_->setItemText(i, QString::fromLatin1(systems[i]));
  precision_->setItemText(0, say("best on the GPU"));
  base_bits_->setItemText(0, say("as it is computed with"));
  for (int i = 1; i < base_bits_->count(); ++i)
    base_bits_->setItemText(i, say("%1 bits").arg(base_bits_->itemData(i).toString()));
  for (int i = 1; i < pcie_->count(); ++i)
    pcie_->setItemText(i, pcie_->itemData(i).toString().replace('x', QStringLiteral(".0 × ")));
  strategy_->setItemText(0, say("the fastest that fits"));
  modules_->setItemText(0, say("what it is usually trained with"));
  preferences_->setItemText(0, say("texts"));
  preferences_->setItemText(1, say("pairs of answers (DPO)"));
  preferences_->setItemText(2, say("rated answers (KTO)"));
  preferences_->setItemText(3, say("answers of its own (GRPO)"));
  recompute_->setItemText(1, say("none"));
  recompute_->setItemText(2, say("selective"));
  recompute_->setItemText(3, say("every block"));
  offload_->setItemText(0, say("none"));
  if (const int by_hand = strategy_->findData(QString::fromLatin1(kByHand)); by_hand >= 0) strategy_->setItemText(by_hand, say("by hand"));
}

void ChoiceForm::name_open(bool other_program) {
  for (QComboBox* list : {recompute_, zero_}) list->setItemText(0, other_program ? say("usual") : say("left open"));
  for (StepField* ranks : {tensor_ranks_, stages_, expert_ranks_}) ranks->set_words({}, other_program ? say("one") : say("left open"));
}

/// What several GPUs share.
void ChoiceForm::retranslate_ranks() {
  sequence_parallel_->setText(say("Tensor ranks share rows, too"));
  global_batch_->set_words({}, say("one a GPU"));
  network_->setPlaceholderText(say("between nodes, 25GB/s"));
  more_->setPlaceholderText(say("options of plimsoll fit"));
  more_->setToolTip(say("further options of plimsoll fit, such as --attention flash; a training file fills them in"));
  zero_->setToolTip(say("what GPUs share out: 1 optimizer states, 2 and gradients, 3 and parameters"));
  tensor_ranks_->setToolTip(say("GPUs that share each layer"));
  stages_->setToolTip(say("stages of a pipeline"));
  expert_ranks_->setToolTip(say("GPUs that share the experts"));
  sequence_parallel_->setToolTip(say("norms and dropouts on a part of the sequence (Megatron-LM's --sequence-parallel)"));
  global_batch_->setToolTip(say("sequences of a step over all GPUs"));
}

void ChoiceForm::retranslate() {
  const QSignalBlocker quiet(this);
  for (FormCard* card : {model_card_, machine_card_, training_card_, program_card_, strategy_card_}) card->retranslate();
  by_hand_->retranslate();
  fill_lists();
  gpus_->set_words({}, {});
  ram_->set_words(QStringLiteral(" GiB"), {});
  ssd_->set_words(QStringLiteral(" GB"), say("none"));
  device_memory_->set_words(QStringLiteral(" GiB"), say("none"));
  sequence_->set_words({}, say("usual"));
  lora_->set_words({}, say("off"));
  lora_targets_->setPlaceholderText(say("every matrix, or q,v"));
  lora_targets_->setToolTip(say("matrices that have adapters beside them"));
  retranslate_ranks();
  os_->setToolTip(say("what of the GPU's and of host memory a program can have"));
  desktop_->setText(say("The GPU drives a desktop too"));
  tokens_->setPlaceholderText(say("of the whole training, 300B"));
  model_->setAccessibleName(say("Model"));
  model_->setToolTip(say("a name, a shape in words, or drop a config.json, .safetensors, folder or training file (.yaml)"));
  findChild<QToolButton*>("browse")->setToolTip(say("Choose a model file"));
  findChild<QToolButton*>("browse")->setAccessibleName(say("Choose a model file"));
  strategy_->setAccessibleName(say("Strategy"));
  const std::pair<StepField*, const char*> named[] = {{gpus_, to_say("How many")},
                                                      {ram_, to_say("RAM")},
                                                      {ssd_, to_say("SSD")},
                                                      {device_memory_, to_say("Cap")},
                                                      {batch_, to_say("Batch")},
                                                      {accumulate_, to_say("Accumulate")},
                                                      {sequence_, to_say("Sequence")},
                                                      {lora_, to_say("LoRA rank")},
                                                      {tensor_ranks_, to_say("Tensor")},
                                                      {stages_, to_say("Stages")},
                                                      {expert_ranks_, to_say("Experts")},
                                                      {global_batch_, to_say("All batches")}};
  for (const auto& [field, name] : named) field->set_name(say(name));
}

}  // namespace plimsoll::gui
