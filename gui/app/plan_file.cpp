#include "gui/app/plan_file.h"

#include <QFile>
#include <QFileInfo>

namespace plimsoll::gui {

bool is_plan_file(const QString& model) {
  const QFileInfo file(model);
  return file.suffix().toLower() == "json" && file.fileName() != "config.json";
}

bool looks_like_plan(const QString& path) {
  constexpr qint64 kBegin = 8192;
  QFile file(path);
  if (!is_plan_file(path) || !file.open(QIODevice::ReadOnly)) return false;
  const QByteArray begin = file.read(kBegin);
  return begin.contains("\"format_version\"") && begin.contains("\"recipe\"") && begin.contains("\"strategy\"");
}

}  // namespace plimsoll::gui
