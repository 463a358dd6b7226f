#include "gui/app/find_engine.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace plimsoll::gui {

QString find_engine() {
  const QString beside = QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("plimsoll"));
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("plimsoll"));
}

}  // namespace plimsoll::gui
