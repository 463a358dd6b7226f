#pragma once

#include <QPointer>
#include <QString>
#include <QUndoCommand>

namespace plimsoll::gui {

/// One change of a page's choices, from one value of them to another. Changes of the same field in a row are one to a
/// user, so dragging a slider is undone at once.
template <typename Owner, typename Value>
class ChangeCommand final : public QUndoCommand {
 public:
  using Set = void (Owner::*)(const Value&);

  /// `what` names the field; `id` is the owner's own number among commands.
  ChangeCommand(Owner* owner, Set set, Value before, Value after, QString what, int id)
      : owner_(owner), set_(set), before_(std::move(before)), after_(std::move(after)), what_(std::move(what)), id_(id) {}

  void undo() override { apply(before_); }
  void redo() override { apply(after_); }
  [[nodiscard]] int id() const override { return id_; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const ChangeCommand*>(other);  // of the same id
    if (next->owner_ != owner_ || next->what_ != what_) return false;
    after_ = next->after_;
    setObsolete(after_ == before_);
    return true;
  }

 private:
  void apply(const Value& value) {
    if (owner_) (owner_->*set_)(value);
  }

  QPointer<Owner> owner_;
  Set set_;
  Value before_;
  Value after_;
  QString what_;
  int id_;
};

/// The pages' numbers among commands.
enum class ChangeId { kExplore = 1, kRun, kPipelines };

}  // namespace plimsoll::gui
