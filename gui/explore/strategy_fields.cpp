#include "gui/explore/strategy_fields.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>

#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "sim/planner/strategy_families.h"

namespace plimsoll::gui {
namespace {

constexpr int kMostBlocks = 100'000;

}  // namespace

StrategyFields::StrategyFields(QWidget* parent)
    : QWidget(parent), grid_(new QGridLayout(this)), in_backward_(new QCheckBox), breadth_first_(new QCheckBox) {
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setHorizontalSpacing(10);
  grid_->setVerticalSpacing(6);
  grid_->setColumnMinimumWidth(0, 92);
  grid_->setColumnStretch(1, 1);
  add_row(to_say("Weights"), add_tier(&Strategy::parameters));
  add_row(to_say("Weights kept"), add_count(&Strategy::device_parameter_blocks, 0));
  add_row(to_say("Optimizer"), add_tier(&Strategy::optimizer));
  add_row(to_say("States kept"), add_count(&Strategy::device_state_blocks, 0));
  add_row(to_say("Device updates"), add_count(&Strategy::device_update_blocks, 0));
  add_row(to_say("Gradients"), add_tier(&Strategy::gradients));
  add_row(to_say("Activations"), add_tier(&Strategy::activations));
  add_row(to_say("Offloaded"), add_count(&Strategy::activation_blocks, 0));
  add_row(to_say("Recompute"), add_count(&Strategy::recompute_every, 0));
  add_row(to_say("Buffers"), add_count(&Strategy::staging_slots, 1));
  grid_->addWidget(in_backward_, grid_->rowCount(), 0, 1, 2);
  grid_->addWidget(breadth_first_, grid_->rowCount(), 0, 1, 2);
  connect(in_backward_, &QCheckBox::toggled, this, [this](bool on) { strategy_.update_in_backward = on, tell(); });
  connect(breadth_first_, &QCheckBox::toggled, this, [this](bool on) {
    strategy_.loop_order = on ? LoopOrder::kBreadthFirst : LoopOrder::kDepthFirst;
    tell();
  });
}

QComboBox* StrategyFields::add_tier(Tier Strategy::*member) {
  auto* list = new QComboBox;
  list->addItems({QString(), QString(), QString()});
  tiers_.emplace_back(list, member);
  connect(list, &QComboBox::activated, this, [this, member](int index) { strategy_.*member = static_cast<Tier>(index), tell(); });
  return list;
}

QSpinBox* StrategyFields::add_count(std::int64_t Strategy::*member, int lowest) {
  auto* box = new QSpinBox;
  box->setRange(lowest, kMostBlocks);
  box->setKeyboardTracking(false);
  counts_.emplace_back(box, member);
  connect(box, &QSpinBox::valueChanged, this, [this, member](int value) { strategy_.*member = value, tell(); });
  return box;
}

void StrategyFields::add_row(const char* label, QWidget* field) {
  auto* text = new QLabel;
  text->setProperty("quiet", true);
  text->setBuddy(field);
  const int row = grid_->rowCount();
  grid_->addWidget(text, row, 0);
  grid_->addWidget(field, row, 1);
  rows_.push_back({label, text, field});
}

void StrategyFields::show_strategy(const Strategy& strategy) {
  const QSignalBlocker quiet(this);
  for (const auto& [list, member] : tiers_) list->setCurrentIndex(static_cast<int>(strategy.*member));
  for (const auto& [box, member] : counts_) box->setValue(static_cast<int>(strategy.*member));
  in_backward_->setChecked(strategy.update_in_backward);
  breadth_first_->setChecked(strategy.loop_order == LoopOrder::kBreadthFirst);
  strategy_ = strategy;
}

void StrategyFields::retranslate() {
  for (const Row& row : rows_) {
    row.label->setText(say(row.english));
    row.field->setAccessibleName(say(row.english));
  }
  for (const auto& [list, member] : tiers_) {
    for (int tier = 0; tier < 3; ++tier) list->setItemText(tier, tier_words(static_cast<Tier>(tier)));
  }
  for (const auto& [box, member] : counts_) {
    const bool slots = member == &Strategy::staging_slots, every = member == &Strategy::recompute_every;
    box->setSuffix(slots ? QString() : say(" blocks"));
    box->setSpecialValueText(slots ? QString() : say("none"));
    if (every) box->setToolTip(say("inputs of every so many blocks are kept, what lies between is recomputed"));
  }
  in_backward_->setText(say("Update during the backward pass"));
  breadth_first_->setText(say("All micro-batches block by block"));
}

void StrategyFields::tell() {
  if (signalsBlocked()) return;
  if (strategy_.activations != Tier::kDevice && strategy_.activation_blocks == 0) strategy_.activation_blocks = 1;
  strategy_.name = family_of(strategy_);
  Q_EMIT changed(strategy_);
}

}  // namespace plimsoll::gui
