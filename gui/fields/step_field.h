#pragma once

#include <QWidget>

#include <vector>

class QDoubleSpinBox;
class QSlider;

namespace plimsoll::gui {

/// A number that is typed, or chosen from round values with a slider.
class StepField final : public QWidget {
  Q_OBJECT

 public:
  /// `stops` are what the slider offers, ascending; the box takes every whole number between the first and the last.
  explicit StepField(std::vector<double> stops, QWidget* parent = nullptr);

  /// Shows a value without telling of it.
  void show_value(double value);
  [[nodiscard]] double value() const;
  /// " GiB"; and what stands for the smallest value ("none").
  void set_words(const QString& unit, const QString& smallest);
  void set_name(const QString& name);

  [[nodiscard]] QDoubleSpinBox* box() const { return box_; }
  [[nodiscard]] QSlider* slider() const { return slider_; }

 Q_SIGNALS:
  void changed(double value);

 private:
  [[nodiscard]] int nearest_stop(double value) const;

  std::vector<double> stops_;
  QDoubleSpinBox* box_;
  QSlider* slider_;
};

/// Powers of two from `low` to `high`; a leading zero where `low` is 0 (then from 1).
std::vector<double> doubling(double low, double high);

}  // namespace plimsoll::gui
