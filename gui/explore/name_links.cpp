#include "gui/explore/name_links.h"

#include <QHash>
#include <QRegularExpression>

#include "formats/machines/gpu_catalogue.h"
#include "formats/models/model_zoo.h"

namespace plimsoll::gui {
namespace {

/// What leads to each name.
const QHash<QString, QString>& known_names() {
  static const QHash<QString, QString> kNames = [] {
    QHash<QString, QString> names;
    for (const ZooModel& model : built_in_zoo()) names[QString::fromStdString(model.name)] = QStringLiteral("model:");
    for (const GpuEntry& gpu : built_in_gpu_catalogue()) names[QString::fromStdString(gpu.name)] = QStringLiteral("gpu:");
    return names;
  }();
  return kNames;
}

QString linked(const QString& name) {
  const QString kind = known_names().value(name);
  const QString shown = name.toHtmlEscaped();
  return kind.isEmpty() ? shown : QStringLiteral("<a href=\"%1%2\">%2</a>").arg(kind, shown);
}

}  // namespace

QString with_name_links(const QString& text) {
  static const QRegularExpression kBetween(
      QStringLiteral("\\s*(?:[,;:]\\s|[?，；：？、（）“”'()]|did you mean\\s|是否指\\s|\\sis another model|\\s是另一型号)\\s*"));
  QString html;
  qsizetype at = 0;
  for (auto signs = kBetween.globalMatch(text); signs.hasNext();) {
    const auto sign = signs.next();
    html += linked(text.mid(at, sign.capturedStart() - at)) + sign.captured().toHtmlEscaped();
    at = sign.capturedEnd();
  }
  return html + linked(text.mid(at));
}

}  // namespace plimsoll::gui
