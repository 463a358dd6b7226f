#include "gui/timeline/search_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "gui/language/say.h"

namespace plimsoll::gui {

SearchBar::SearchBar(QWidget* parent)
    : QWidget(parent), field_(new QLineEdit), count_(new QLabel), previous_(new QToolButton), next_(new QToolButton) {
  field_->setClearButtonEnabled(true);
  field_->setMinimumWidth(220);
  field_->setObjectName("search");
  field_->installEventFilter(this);
  previous_->setArrowType(Qt::UpArrow);
  next_->setArrowType(Qt::DownArrow);
  for (QToolButton* button : {previous_, next_}) button->setAutoRaise(true);
  count_->setProperty("quiet", true);
  count_->setMinimumWidth(64);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(4);
  row->addWidget(field_);
  row->addWidget(previous_);
  row->addWidget(next_);
  row->addWidget(count_);
  connect(field_, &QLineEdit::textChanged, this, &SearchBar::wordsChanged);
  connect(next_, &QToolButton::clicked, this, &SearchBar::nextRequested);
  connect(previous_, &QToolButton::clicked, this, &SearchBar::previousRequested);
}

void SearchBar::retranslate() {
  field_->setPlaceholderText(say("Search: attention, layer:7, #123"));
  field_->setAccessibleName(say("Search operations"));
  previous_->setToolTip(say("Previous match (Shift+Enter)"));
  next_->setToolTip(say("Next match (Enter)"));
  previous_->setAccessibleName(previous_->toolTip());
  next_->setAccessibleName(next_->toolTip());
}

void SearchBar::show_count(std::size_t position, std::size_t matches, bool searching) {
  if (!searching) {
    count_->clear();
  } else if (position > 0) {
    count_->setText(say("%1 of %2").arg(position).arg(matches));
  } else {
    count_->setText(say("%1 found").arg(matches));
  }
}

void SearchBar::begin() {
  field_->setFocus(Qt::ShortcutFocusReason);
  field_->selectAll();
}

QString SearchBar::words() const { return field_->text(); }

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched != field_ || event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto& key = *static_cast<QKeyEvent*>(event);
  if (key.key() == Qt::Key_Escape) {
    field_->clear();
    return true;
  }
  if (key.key() != Qt::Key_Return && key.key() != Qt::Key_Enter) return false;
  if ((key.modifiers() & Qt::ShiftModifier) != 0) {
    Q_EMIT previousRequested();
  } else {
    Q_EMIT nextRequested();
  }
  return true;
}

}  // namespace plimsoll::gui
