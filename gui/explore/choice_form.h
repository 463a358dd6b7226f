#pragma once

#include <QWidget>

#include <vector>

#include "gui/explore/choices.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace plimsoll::gui {

class FormCard;
class NameField;
class StepField;
class StrategyFields;

/// The fields of the Explore page. They show choices and tell of every change; what a change means is the page's matter.
class ChoiceForm final : public QWidget {
  Q_OBJECT

 public:
  explicit ChoiceForm(QWidget* parent = nullptr);

  void show_choices(const Choices& choices);
  void retranslate();

 Q_SIGNALS:
  /// `what` names the field ("batch"): changes of one field in a row are one change to a user.
  void changed(const plimsoll::gui::Choices& choices, const QString& what);
  /// A model is to be chosen from the disk.
  void browseRequested();

 private:
  void retranslate_ranks();
  /// What nobody says is searched where plimsoll lays it out; under another program it is usual, or one.
  void name_open(bool other_program);
  void make_model_card();
  void make_machine_card();
  void make_training_card();
  void make_program_card();
  void connect_program_card();
  void make_strategy_card();
  /// Lists have what the program that trains takes.
  void offer_values(const Choices& choices);
  void show_program(const Choices& choices);
  void fill_lists();
  template <typename Field, typename Member>
  void bind_number(Field* field, Member Choices::*member, const char* what);
  void bind_text(QLineEdit* line, QString Choices::*member, const char* what);
  void bind_list(QComboBox* list, QString Choices::*member, const char* what);
  void tell(const char* what);

  Choices choices_;
  FormCard* model_card_;
  FormCard* machine_card_;
  FormCard* training_card_;
  FormCard* program_card_;
  FormCard* strategy_card_;
  NameField* model_;
  NameField* gpu_;
  StepField* gpus_;
  StepField* ram_;
  StepField* ssd_;
  QComboBox* pcie_;
  QComboBox* os_;
  StepField* device_memory_;
  QCheckBox* desktop_;
  StepField* batch_;
  StepField* accumulate_;
  StepField* sequence_;
  QComboBox* precision_;
  QComboBox* optimizer_;
  StepField* lora_;
  QLineEdit* lora_targets_;
  QComboBox* base_bits_;
  QLineEdit* tokens_;
  QComboBox* stack_;
  QComboBox* modules_;
  QCheckBox* compile_;
  QComboBox* recompute_;
  QComboBox* zero_;
  QComboBox* offload_;
  QComboBox* preferences_;
  StepField* tensor_ranks_;
  StepField* stages_;
  StepField* expert_ranks_;
  QCheckBox* sequence_parallel_;
  StepField* global_batch_;
  QComboBox* layout_;
  QLineEdit* network_;
  QLineEdit* more_;
  QComboBox* strategy_;
  StrategyFields* by_hand_;
};

}  // namespace plimsoll::gui

Q_DECLARE_METATYPE(plimsoll::gui::Choices)
