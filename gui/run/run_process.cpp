#include "gui/run/run_process.h"

#include <QProcess>
#include <QSocketNotifier>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "gui/language/say.h"
#include "gui/language/say_engine.h"

namespace plimsoll::gui {
namespace {

constexpr qsizetype kLongestLine = 1 << 20;  ///< more than this without an end is no progress line

}  // namespace

RunProcess::RunProcess(QString engine, QObject* parent) : QObject(parent), engine_(std::move(engine)) {}

RunProcess::~RunProcess() {
  if (process_ != nullptr) {
    process_->disconnect(this);
    process_->kill();
    process_->waitForFinished(2000);
  }
  close_pipe();
}

void RunProcess::start(const QStringList& arguments) {
  if (running()) return;
  end_.reset();
  error_.reset();
  unread_.clear();
  if (engine_.isEmpty()) return give_up(say("The plimsoll program, which trains, was not found beside the window's file or on the PATH."));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return give_up(say("No pipe can be made: too many files are open."));
  pipe_ = ends[0];
  fcntl(pipe_, F_SETFL, O_NONBLOCK);
  process_ = new QProcess(this);
  const int child_end = ends[1];
  process_->setChildProcessModifier([child_end] { fcntl(child_end, F_SETFD, 0); });  // only this child may have it
  connect(process_, &QProcess::finished, this, &RunProcess::finish);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) finish();
  });
  notifier_ = new QSocketNotifier(pipe_, QSocketNotifier::Read, this);
  connect(notifier_, &QSocketNotifier::activated, this, &RunProcess::read_lines);
  process_->start(engine_, QStringList{"run"} + arguments + QStringList{"--quiet", "--progress-fd", QString::number(child_end)});
  ::close(child_end);
}

void RunProcess::stop() {
  if (running()) ::kill(static_cast<pid_t>(process_->processId()), SIGINT);
}

void RunProcess::kill() {
  if (running()) process_->kill();
}

void RunProcess::read_lines() {
  std::array<char, 16384> buffer{};
  while (pipe_ >= 0) {
    const ssize_t count = ::read(pipe_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 && notifier_ != nullptr) notifier_->setEnabled(false);
    if (count <= 0) break;
    unread_.append(buffer.data(), count);
  }
  for (qsizetype end = unread_.indexOf('\n'); end >= 0; end = unread_.indexOf('\n')) {
    const QByteArray line = unread_.left(end);
    unread_.remove(0, end + 1);
    take_line(line);
  }
  if (unread_.size() > kLongestLine) unread_.clear();
}

void RunProcess::take_line(const QByteArray& line) {
  const auto read = parse_progress(line);
  if (!read) return;
  if (const auto* end = std::get_if<EndLine>(&*read)) end_ = *end;
  if (const auto* error = std::get_if<ErrorLine>(&*read)) error_ = *error;
  Q_EMIT told(*read);
}

RunEnd RunProcess::end_of(QProcess& process) const {
  if (process.error() == QProcess::FailedToStart) {
    return {RunEnd::Kind::kFailed, say("%1 cannot be started.").arg(engine_), {}};
  }
  if (error_) return {RunEnd::Kind::kFailed, say_engine(error_->text.toStdString()), {}};
  if (end_) {
    const QString text = end_->interrupted ? say("Stopped; the checkpoint %1 keeps what was done.").arg(end_->checkpoint) : say("Done.");
    return {end_->interrupted ? RunEnd::Kind::kInterrupted : RunEnd::Kind::kDone, text, end_->file};
  }
  if (process.exitStatus() == QProcess::CrashExit) {
    return {RunEnd::Kind::kFailed, say("The program was killed or crashed. The run file keeps the steps that were committed."), {}};
  }
  const QString said = say_program_error(process.readAllStandardError());
  return {RunEnd::Kind::kFailed, said.isEmpty() ? say("The program ended with code %1.").arg(process.exitCode()) : said, {}};
}

void RunProcess::finish() {
  read_lines();
  QProcess* process = process_;
  process_ = nullptr;
  close_pipe();
  process->deleteLater();
  Q_EMIT ended(end_of(*process));
}

void RunProcess::close_pipe() {
  if (notifier_ != nullptr) notifier_->setEnabled(false), notifier_->deleteLater(), notifier_ = nullptr;
  if (pipe_ >= 0) ::close(pipe_);
  pipe_ = -1;
}

void RunProcess::give_up(const QString& text) { Q_EMIT ended({RunEnd::Kind::kFailed, text, {}}); }

}  // namespace plimsoll::gui
