#pragma once

#include <QWidget>

#include "gui/pipelines/pipeline_choices.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;

namespace plimsoll::gui {

class FormCard;
class StepField;

/// The fields of the Pipelines page. They show choices and tell of every change.
class PipelineForm final : public QWidget {
  Q_OBJECT

 public:
  explicit PipelineForm(QWidget* parent = nullptr);

  void show_choices(const PipelineChoices& choices);
  void retranslate();

 Q_SIGNALS:
  void changed(const plimsoll::gui::PipelineChoices& choices, const QString& what);

 private:
  void make_schedule_card();
  void make_cost_card();
  void bind(StepField* field, int PipelineChoices::*member, const char* what);
  void bind(QDoubleSpinBox* field, double PipelineChoices::*member, const char* what);
  void tell(const char* what);

  PipelineChoices choices_;
  FormCard* schedule_card_;
  FormCard* cost_card_;
  QComboBox* schedule_;
  QLabel* about_;
  StepField* ranks_;
  StepField* micro_batches_;
  StepField* chunks_;
  QCheckBox* overlapped_;
  QDoubleSpinBox* forward_;
  QDoubleSpinBox* input_;
  QDoubleSpinBox* weight_;
  QDoubleSpinBox* hop_;
};

}  // namespace plimsoll::gui
