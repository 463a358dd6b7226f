#pragma once

#include "gui/app/page.h"
#include "gui/jobs/latest_job.h"
#include "gui/pipelines/pipeline_choices.h"
#include "gui/pipelines/pipeline_view.h"

class QLabel;
class QPushButton;

namespace plimsoll::gui {

class LegendBar;
class PipelineForm;

/// Pipeline schedules as papers draw them: choose one, or sizes and times, and see its bubbles and what ranks hold.
class PipelinePage final : public Page {
  Q_OBJECT

 public:
  explicit PipelinePage(const PageContext& context);

  [[nodiscard]] QString name() const override { return QStringLiteral("pipelines"); }
  [[nodiscard]] QString title() const override;
  void retranslate() override;
  void apply_theme(const Theme& theme) override;
  bool open_file(const QString& path) override;
  [[nodiscard]] bool busy() const override { return job_->busy(); }

  /// Makes a change that can be undone.
  void choose(const PipelineChoices& choices, const QString& what);
  /// For the undo stack.
  void set_choices(const PipelineChoices& choices);
  [[nodiscard]] const PipelineChoices& choices() const { return choices_; }
  [[nodiscard]] const SharedPipeline& pipeline() const { return view_->pipeline(); }
  /// What is said above the drawing: the figures, or why there are none.
  [[nodiscard]] QString summary() const;

  /// Writes the drawing or the orders; errors in words.
  Result<void> write_svg(const QString& path) const;
  Result<void> write_csv(const QString& path) const;

 private:
  QWidget* make_right();
  QWidget* make_figures();
  QWidget* make_buttons();
  void retime();
  void take(const Result<SharedPipeline>& timed);
  void tell_figures();
  void save(bool svg);

  QUndoStack& undo_;
  PipelineChoices choices_;
  Theme theme_;
  LatestJob* job_;
  PipelineForm* form_;
  PipelineView* view_;
  LegendBar* legend_;
  std::vector<QLabel*> figures_;  ///< value and name of each
  QLabel* trouble_;
  QPushButton* open_;
  QPushButton* svg_;
  QPushButton* csv_;
};

std::unique_ptr<Page> make_pipeline_page(const PageContext& context);

}  // namespace plimsoll::gui
