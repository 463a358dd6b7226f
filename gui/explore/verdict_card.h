#pragma once

#include <QFrame>

#include <vector>

#include "gui/explore/verdict.h"
#include "gui/theme/theme.h"

class QHBoxLayout;
class QLabel;

namespace plimsoll::gui {

class TimeBar;

/// The answer at a glance: a sentence, the four numbers that matter, and what the step's time goes into.
class VerdictCard final : public QFrame {
  Q_OBJECT

 public:
  explicit VerdictCard(QWidget* parent = nullptr);

  /// `tokens` is the length of the training, 0 when nobody said.
  void show_verdict(const SharedVerdict& verdict, double tokens);
  /// Why there is no verdict.
  void show_error(const QString& text);
  void show_working(bool working);
  void apply_theme(const Theme& theme);
  void retranslate();

  /// The first line, "Fits: …".
  [[nodiscard]] QString sentence() const;

 Q_SIGNALS:
  /// A name that a refusal offers was taken: "gpu:RTX 2060 6GB", "model:gpt2-xl".
  void nameTaken(const QString& link);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Figure {
    QLabel* name;
    QLabel* value;
    QLabel* note;
  };

  /// At the end of the row, empty.
  Figure add_figure(QHBoxLayout& row) const;
  void fill();
  void show_parts();
  /// As high as its lines are where they wrap: a layout without room would press them into each other.
  void keep_height();
  void fill_figures(const FitAnswer& answer);
  void set_figure(std::size_t index, const QString& name, const QString& value, const QString& note);

  SharedVerdict verdict_;
  QString error_;
  double tokens_ = 0;
  bool working_ = false;
  Theme theme_;
  QLabel* sentence_;
  QLabel* working_label_;
  QLabel* plan_;
  QWidget* numbers_;
  std::vector<Figure> figures_;
  TimeBar* time_bar_;
};

}  // namespace plimsoll::gui
