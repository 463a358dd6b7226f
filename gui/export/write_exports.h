#pragma once

#include <QString>

#include "core/base/result.h"
#include "gui/app/predicted_plan.h"

class QAbstractItemModel;

namespace plimsoll::gui {

/// Each writes a file whole or not at all; an error says what was in the way. None asks anything of a user.

/// The plan of the same strategy with an evaluation, proved by verify_plan, as `plimsoll plan` writes it.
Result<void> export_plan(const PredictedPlan& plan, const QString& path);
/// The strategy, for `--strategy FILE`.
Result<void> export_strategy(const PredictedPlan& plan, const QString& path);
/// The predicted steps for chrome://tracing and Perfetto.
Result<void> export_trace(const PredictedPlan& plan, const QString& path);
/// The answer as `plimsoll fit --json` prints it.
Result<void> export_answer(const PredictedPlan& plan, const QString& path);
/// What a table shows, with its header, as CSV (RFC 4180).
Result<void> export_table(const QAbstractItemModel& table, const QString& path);

/// A field of a CSV file, quoted where it must be.
QString csv_field(const QString& text);

}  // namespace plimsoll::gui
