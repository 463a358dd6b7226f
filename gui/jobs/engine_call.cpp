#include "gui/jobs/engine_call.h"

#include <QProcess>

#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr int kKillMilliseconds = 1000;

}  // namespace

EngineCall::EngineCall(QString engine, QObject* parent) : QObject(parent), engine_(std::move(engine)) {}

EngineCall::~EngineCall() { cancel(); }

void EngineCall::cancel() {
  if (process_ == nullptr) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(kKillMilliseconds);
  process_->deleteLater();
  process_ = nullptr;
}

void EngineCall::start(const QStringList& arguments) {
  cancel();
  if (engine_.isEmpty()) {
    return Q_EMIT refused(
        say("The plimsoll program, which answers this, was not found beside the window's file or on the PATH."));
  }
  process_ = new QProcess(this);
  connect(process_, &QProcess::finished, this, [this](int code) { end(*process_, code); });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    process_->deleteLater();
    process_ = nullptr;
    Q_EMIT refused(say("%1 cannot be started.").arg(engine_));
  });
  process_->start(engine_, arguments, QIODevice::ReadOnly);
}

void EngineCall::end(QProcess& process, int code) {
  process_ = nullptr;
  process.deleteLater();
  if (process.exitStatus() != QProcess::NormalExit)
    return Q_EMIT refused(say("The plimsoll program was killed; change a choice to ask again."));
  Q_EMIT finished(code, process.readAllStandardOutput(), process.readAllStandardError());
}

}  // namespace plimsoll::gui
