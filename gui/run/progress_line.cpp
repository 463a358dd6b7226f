#include "gui/run/progress_line.h"

#include <QJsonDocument>
#include <QJsonObject>

#include <limits>

namespace plimsoll::gui {
namespace {

StepLine step_of(const QJsonObject& line) {
  StepLine step{.step = line["step"].toInteger(), .end_step = line["end_step"].toInteger(), .seconds = line["seconds"].toDouble()};
  step.loss = line["loss"].toDouble(std::numeric_limits<double>::quiet_NaN());
  if (line["process_bytes"].isDouble()) step.process_bytes = line["process_bytes"].toInteger();
  return step;
}

}  // namespace

std::optional<ProgressLine> parse_progress(const QByteArray& text) {
  const QJsonDocument document = QJsonDocument::fromJson(text);
  if (!document.isObject()) return std::nullopt;
  const QJsonObject line = document.object();
  const QString event = line["event"].toString();
  if (event == "stage") return StageLine{line["text"].toString()};
  if (event == "warning") return WarningLine{line["text"].toString()};
  if (event == "error") return ErrorLine{line["text"].toString()};
  if (event == "step") return step_of(line);
  if (event == "evaluation") return EvaluationLine{line["steps"].toInteger(), line["loss"].toDouble()};
  if (event == "end") return EndLine{line["interrupted"].toBool(), line["file"].toString(), line["checkpoint"].toString()};
  if (event != "plan") return std::nullopt;
  return PlanLine{.model = line["model"].toString(), .strategy = line["strategy"].toString(), .seconds = line["step_seconds"].toDouble(),
                  .low = line["step_seconds_low"].toDouble(), .high = line["step_seconds_high"].toDouble(),
                  .tokens = line["tokens_per_step"].toInteger()};
}

}  // namespace plimsoll::gui
