#pragma once

#include <QString>
#include <QStringList>

#include "core/base/result.h"
#include "formats/exporters/export_target.h"
#include "gui/app/predicted_plan.h"

class QAbstractItemModel;

namespace plimsoll::gui {

/// Each writes a file whole or not at all; an error says what was in the way. None asks anything of a user. What is
/// returned are notes: what the file's format cannot say, or says approximately.

/// The plan of the same strategy with an evaluation, proved by verify_plan, as `plimsoll plan` writes it.
Result<QStringList> export_plan(const PredictedPlan& plan, const QString& path);
/// The strategy, for `--strategy FILE`.
Result<QStringList> export_strategy(const PredictedPlan& plan, const QString& path);
/// The predicted steps for chrome://tracing and Perfetto.
Result<QStringList> export_trace(const PredictedPlan& plan, const QString& path);
/// The predicted steps as Perfetto's protobuf.
Result<QStringList> export_perfetto(const PredictedPlan& plan, const QString& path);
/// The predicted events, one a row.
Result<QStringList> export_events(const PredictedPlan& plan, const QString& path);
/// The answer as `plimsoll fit --json` prints it.
Result<QStringList> export_answer(const PredictedPlan& plan, const QString& path);
/// The plan as another program's options, as `plimsoll export --to` writes them; a script that applies them goes beside
/// the file, with the ending .py.
Result<QStringList> export_program(const PredictedPlan& plan, ExportTarget target, const QString& path);
/// What a table shows, with its header, as CSV (RFC 4180).
Result<QStringList> export_table(const QAbstractItemModel& table, const QString& path);

/// A field of a CSV file, quoted where it must be.
QString csv_field(const QString& text);

}  // namespace plimsoll::gui
