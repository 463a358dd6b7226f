#pragma once

#include <QByteArray>
#include <QString>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace plimsoll::gui {

/// What a line of a running plimsoll program says (docs/progress-lines.md).
struct StageLine {
  QString text;
};
struct WarningLine {
  QString text;
};
struct PlanLine {
  QString model;
  QString strategy;
  double seconds = 0;  ///< predicted, with its interval
  double low = 0;
  double high = 0;
  std::int64_t tokens = 0;  ///< in a step
};
struct StepLine {
  std::int64_t step = 0;
  std::int64_t end_step = 0;
  double loss = 0;  ///< NaN where it is not finite
  double seconds = 0;
  std::optional<std::int64_t> process_bytes;
};
struct EvaluationLine {
  std::int64_t steps = 0;
  double loss = 0;
};
struct EndLine {
  bool interrupted = false;
  QString file;
  QString checkpoint;
};
struct ErrorLine {
  QString text;
};

using ProgressLine = std::variant<StageLine, WarningLine, PlanLine, StepLine, EvaluationLine, EndLine, ErrorLine>;

/// Nothing for a line that is no object or of an event that is not known.
std::optional<ProgressLine> parse_progress(const QByteArray& line);

}  // namespace plimsoll::gui
