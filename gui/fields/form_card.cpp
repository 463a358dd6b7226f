#include "gui/fields/form_card.h"

#include <QGridLayout>
#include <QLabel>

#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr int kLabelWidth = 92;

}  // namespace

FormCard::FormCard(const char* heading, QWidget* parent)
    : QFrame(parent), grid_(new QGridLayout(this)), heading_text_(heading), heading_(new QLabel) {
  setProperty("card", true);
  grid_->setContentsMargins(14, 10, 14, 12);
  grid_->setHorizontalSpacing(10);
  grid_->setVerticalSpacing(7);
  grid_->setColumnMinimumWidth(0, kLabelWidth);
  grid_->setColumnStretch(1, 1);
  heading_->setProperty("heading", true);
  grid_->addWidget(heading_, 0, 0, 1, 2);
}

void FormCard::add(const char* label, QWidget* field) {
  auto* text = new QLabel;
  text->setProperty("quiet", true);
  text->setBuddy(field);
  const int row = grid_->rowCount();
  grid_->addWidget(text, row, 0);
  grid_->addWidget(field, row, 1);
  rows_.push_back({label, text, field});
}

void FormCard::add_wide(QWidget* field) { grid_->addWidget(field, grid_->rowCount(), 0, 1, 2); }

void FormCard::set_row_visible(QWidget* field, bool visible) {
  for (const Row& row : rows_) {
    if (row.field != field) continue;
    row.label->setVisible(visible);
    row.field->setVisible(visible);
  }
}

void FormCard::retranslate() {
  heading_->setText(say(heading_text_));
  for (const Row& row : rows_) {
    row.label->setText(say(row.english));
    row.field->setAccessibleName(say(row.english));
  }
}

}  // namespace plimsoll::gui
