#pragma once

#include <QObject>

#include <optional>

#include "gui/explore/problem.h"
#include "gui/jobs/engine_call.h"

namespace plimsoll::gui {

/// Asks the plimsoll program what this computer is; the window itself looks at no hardware.
class OwnComputerQuestion final : public QObject {
  Q_OBJECT

 public:
  OwnComputerQuestion(QString engine, QObject* parent = nullptr);

  /// Asks about this computer under the choices' caps, unless that is what is known or asked already.
  void ask(const Choices& choices);
  /// What was answered to the last question; nothing while it is open.
  [[nodiscard]] const std::optional<OwnComputer>& answer() const { return answer_; }
  [[nodiscard]] bool busy() const { return call_.busy(); }

 Q_SIGNALS:
  void answered();
  /// Why there is no answer.
  void refused(const QString& text);

 private:
  void take_answer(int code, const QByteArray& output, const QByteArray& errors);

  EngineCall call_;
  QStringList asked_;
  std::optional<OwnComputer> answer_;
};

}  // namespace plimsoll::gui
