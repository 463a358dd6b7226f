#pragma once

#include <QWidget>

#include <vector>

#include "gui/run/run_choices.h"

class QComboBox;
class QLineEdit;
class QToolButton;

namespace plimsoll::gui {

class FormCard;
class StepField;

/// The fields of the Run page: what is trained, on which data, and within which memory.
class RunForm final : public QWidget {
  Q_OBJECT

 public:
  explicit RunForm(QWidget* parent = nullptr);

  void show_choices(const RunChoices& choices);
  void retranslate();

 Q_SIGNALS:
  void changed(const plimsoll::gui::RunChoices& choices, const QString& what);

 private:
  void make_what_card();
  void make_how_card();
  void make_backend_field();
  QWidget* make_path_field(QLineEdit* field, QString RunChoices::*member, const char* what, bool folder);
  void bind_text(QLineEdit* field, QString RunChoices::*member, const char* what);
  template <typename Member>
  void bind_number(StepField* field, Member RunChoices::*member, const char* what);
  void tell(const char* what);

  RunChoices choices_;
  FormCard* what_card_;
  FormCard* how_card_;
  QLineEdit* model_;
  QLineEdit* data_;
  QLineEdit* folder_;
  QComboBox* backend_;
  std::vector<QToolButton*> browse_;
  StepField* steps_;
  StepField* batch_;
  StepField* accumulate_;
  StepField* sequence_;
  StepField* device_memory_;
  StepField* ram_;
  QComboBox* optimizer_;
  QLineEdit* learning_rate_;
};

}  // namespace plimsoll::gui
