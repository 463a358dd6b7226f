#include "gui/fields/step_field.h"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSlider>

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {

StepField::StepField(std::vector<double> stops, QWidget* parent)
    : QWidget(parent), stops_(std::move(stops)), box_(new QDoubleSpinBox), slider_(new QSlider(Qt::Horizontal)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  row->addWidget(slider_, 1);
  row->addWidget(box_);
  box_->setDecimals(0);
  box_->setRange(stops_.front(), stops_.back());
  box_->setGroupSeparatorShown(true);
  box_->setFixedWidth(104);
  box_->setKeyboardTracking(false);
  slider_->setRange(0, static_cast<int>(stops_.size()) - 1);
  slider_->setPageStep(1);
  slider_->setFocusPolicy(Qt::ClickFocus);  // the keyboard has the box, one stop for one number
  setFocusProxy(box_);
  connect(slider_, &QSlider::valueChanged, this, [this](int stop) { box_->setValue(stops_[static_cast<std::size_t>(stop)]); });
  connect(box_, &QDoubleSpinBox::valueChanged, this, [this](double value) {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(nearest_stop(value));
    Q_EMIT changed(value);
  });
}

int StepField::nearest_stop(double value) const {
  const auto next = std::lower_bound(stops_.begin(), stops_.end(), value);
  if (next == stops_.end()) return static_cast<int>(stops_.size()) - 1;
  const bool earlier = next != stops_.begin() && value - *(next - 1) < *next - value;
  return static_cast<int>(next - stops_.begin()) - (earlier ? 1 : 0);
}

void StepField::show_value(double value) {
  const QSignalBlocker quiet(this);
  box_->setValue(value);
}

double StepField::value() const { return box_->value(); }

void StepField::set_words(const QString& unit, const QString& smallest) {
  box_->setSuffix(unit);
  box_->setSpecialValueText(smallest);
}

void StepField::set_name(const QString& name) {
  box_->setAccessibleName(name);
  slider_->setAccessibleName(name);
}

std::vector<double> doubling(double low, double high) {
  std::vector<double> stops;
  if (low == 0) stops.push_back(0);
  for (double value = std::max(low, 1.0); value <= high; value *= 2) stops.push_back(value);
  return stops;
}

}  // namespace plimsoll::gui
