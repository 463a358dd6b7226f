#include "gui/explore/choice_command.h"

namespace plimsoll::gui {

ChoiceCommand::ChoiceCommand(ExplorePage* page, Choices before, Choices after, QString what)
    : page_(page), before_(std::move(before)), after_(std::move(after)), what_(std::move(what)) {
  setText(what_);
}

void ChoiceCommand::undo() {
  if (page_) page_->set_choices(before_);
}

void ChoiceCommand::redo() {
  if (page_) page_->set_choices(after_);
}

bool ChoiceCommand::mergeWith(const QUndoCommand* other) {
  const auto* next = static_cast<const ChoiceCommand*>(other);  // of this id
  if (next->page_ != page_ || next->what_ != what_) return false;
  after_ = next->after_;
  setObsolete(after_ == before_);
  return true;
}

}  // namespace plimsoll::gui
