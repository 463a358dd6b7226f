#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

class QProcess;

namespace plimsoll::gui {

/// Asks the plimsoll program, as a child process; a new question ends the one before. Used from the window's thread.
class EngineCall final : public QObject {
  Q_OBJECT

 public:
  /// `engine` is the program's path; empty where there is none.
  EngineCall(QString engine, QObject* parent = nullptr);
  /// Ends what runs.
  ~EngineCall() override;

  void start(const QStringList& arguments);
  /// Nothing is wanted any more.
  void cancel();
  [[nodiscard]] bool busy() const { return process_ != nullptr; }

 Q_SIGNALS:
  /// It ended by itself with this exit code.
  void finished(int code, const QByteArray& output, const QByteArray& errors);
  /// It is not there, cannot be started, or was killed: why, in words.
  void refused(const QString& text);

 private:
  void end(QProcess& process, int code);

  QString engine_;
  QProcess* process_ = nullptr;
};

}  // namespace plimsoll::gui
