#pragma once

#include <QPointer>
#include <QUndoCommand>

#include "gui/explore/explore_page.h"

namespace plimsoll::gui {

/// One change of the Explore page's choices. Changes of the same field in a row are one.
class ChoiceCommand final : public QUndoCommand {
 public:
  ChoiceCommand(ExplorePage* page, Choices before, Choices after, QString what);

  void undo() override;
  void redo() override;
  [[nodiscard]] int id() const override { return 1; }
  bool mergeWith(const QUndoCommand* other) override;

 private:
  QPointer<ExplorePage> page_;
  Choices before_;
  Choices after_;
  QString what_;
};

}  // namespace plimsoll::gui
