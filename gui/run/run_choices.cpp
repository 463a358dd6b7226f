#include "gui/run/run_choices.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>

#include "gui/app/plan_file.h"

namespace plimsoll::gui {

QStringList run_arguments(const RunChoices& choices, const QString& run_file) {
  QStringList arguments{choices.model, "--data", choices.data, "--steps", QString::number(choices.steps), "-o", run_file};
  const bool on_gpu = choices.backend == "cuda";
  if (on_gpu) arguments << "--backend" << choices.backend;
  if (is_plan_file(choices.model)) return arguments;
  arguments << "--batch" << QString::number(choices.batch) << "--accumulate" << QString::number(choices.accumulate);
  if (choices.sequence > 0) arguments << "--seq" << QString::number(choices.sequence);
  if (!on_gpu) {
    arguments << "--device-memory" << QStringLiteral("%1MiB").arg(choices.device_memory_mib, 0, 'f', 0);
    arguments << "--ram" << QStringLiteral("%1GiB").arg(choices.ram_gib, 0, 'f', 0);
  }
  arguments << "--optimizer" << choices.optimizer;
  if (choices.learning_rate > 0) arguments << "--lr" << QString::number(choices.learning_rate, 'g', 12);
  return arguments;
}

QString new_run_file(const RunChoices& choices) {
  QString name = QFileInfo(choices.model).completeBaseName();
  name = name.section(':', 0, 0).remove(QRegularExpression(QStringLiteral("[^A-Za-z0-9._-]"))).left(40);
  if (name.isEmpty()) name = QStringLiteral("run");
  const QString moment = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"));
  QString path = QDir(choices.folder).filePath(QStringLiteral("%1-%2.plimsoll").arg(name, moment));
  for (int more = 2; QFileInfo::exists(path); ++more) {
    path = QDir(choices.folder).filePath(QStringLiteral("%1-%2-%3.plimsoll").arg(name, moment).arg(more));
  }
  return path;
}

}  // namespace plimsoll::gui
