#pragma once

#include <QObject>

#include "gui/run/progress_line.h"

class QProcess;
class QSocketNotifier;

namespace plimsoll::gui {

/// How a run ended.
struct RunEnd {
  enum class Kind { kDone, kInterrupted, kFailed } kind = Kind::kDone;
  QString text;  ///< for people
  QString file;  ///< the run file; empty when there is none
};

/// A plimsoll program that trains, and what it says meanwhile.
class RunProcess final : public QObject {
  Q_OBJECT

 public:
  explicit RunProcess(QString engine, QObject* parent = nullptr);
  /// A run that is still at it is killed: its run file keeps what was committed.
  ~RunProcess() override;

  /// Starts `plimsoll run` with these arguments; --progress-fd is added.
  void start(const QStringList& arguments);
  /// Asks the run to finish its step, write a checkpoint and end.
  void stop();
  void kill();
  [[nodiscard]] bool running() const { return process_ != nullptr; }

 Q_SIGNALS:
  void told(const plimsoll::gui::ProgressLine& line);
  void ended(const plimsoll::gui::RunEnd& end);

 private:
  void read_lines();
  void take_line(const QByteArray& line);
  void finish();
  void close_pipe();
  void give_up(const QString& text);
  [[nodiscard]] RunEnd end_of(QProcess& process) const;

  QString engine_;
  QProcess* process_ = nullptr;
  QSocketNotifier* notifier_ = nullptr;
  int pipe_ = -1;
  QByteArray unread_;
  std::optional<EndLine> end_;
  std::optional<ErrorLine> error_;
};

}  // namespace plimsoll::gui
