#include "gui/fields/name_field.h"

#include <QCompleter>
#include <QLineEdit>
#include <QWheelEvent>

namespace plimsoll::gui {

NameField::NameField(const QStringList& names, QWidget* parent) : QComboBox(parent) {
  setEditable(true);
  setInsertPolicy(QComboBox::NoInsert);
  addItems(names);
  setMaxVisibleItems(18);
  setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  setMinimumContentsLength(12);
  auto* completion = new QCompleter(names, this);
  completion->setCaseSensitivity(Qt::CaseInsensitive);
  completion->setFilterMode(Qt::MatchContains);
  completion->setCompletionMode(QCompleter::PopupCompletion);
  setCompleter(completion);
  connect(this, &QComboBox::activated, this, &NameField::tell);
  connect(completion, qOverload<const QString&>(&QCompleter::activated), this, [this](const QString& name) {
    setEditText(name);
    tell();
  });
  connect(lineEdit(), &QLineEdit::editingFinished, this, &NameField::tell);
}

void NameField::show_name(const QString& name) {
  told_ = name;
  const int index = findText(name);
  if (index >= 0) setCurrentIndex(index);
  setEditText(name);
  lineEdit()->setCursorPosition(0);
}

void NameField::tell() {
  const QString name = currentText().trimmed();
  if (name == told_ || name.isEmpty()) return;
  told_ = name;
  Q_EMIT changed(name);
}

/// Scrolling the form over a field does not change it.
void NameField::wheelEvent(QWheelEvent* event) { event->ignore(); }

}  // namespace plimsoll::gui
