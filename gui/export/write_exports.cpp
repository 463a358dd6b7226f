#include "gui/export/write_exports.h"

#include <QAbstractItemModel>

#include <functional>
#include <sstream>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/strategy_json.h"
#include "formats/runs/chrome_trace.h"
#include "formats/runs/report_json.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/lower_to_plan.h"

namespace plimsoll::gui {
namespace {

Result<void> write(const QString& path, const std::string& text) {
  try {
    write_text_file(path.toStdString(), text);
    return {};
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

QString row_of(const QAbstractItemModel& table, const std::function<QVariant(int column)>& cell) {
  QStringList fields;
  for (int column = 0; column < table.columnCount(); ++column) fields << csv_field(cell(column).toString());
  return fields.join(',') + QStringLiteral("\r\n");
}

}  // namespace

Result<void> export_plan(const PredictedPlan& plan, const QString& path) {
  const Plan& shown = plan.plan;
  const auto whole = lower_to_plan(shown.spec, shown.recipe, shown.platform, shown.strategy, {.evaluation = true});
  if (!whole) return fail(whole.error());
  if (const auto verified = verify_plan(*whole); !verified) return fail(verified.error());
  return write(path, write_plan(*whole));
}

Result<void> export_strategy(const PredictedPlan& plan, const QString& path) { return write(path, write_strategy(plan.plan.strategy)); }

Result<void> export_trace(const PredictedPlan& plan, const QString& path) {
  const NamedTrace predicted{.name = "predicted", .trace = plan.prediction.trace};
  std::ostringstream text;
  write_chrome_trace(text, plan.plan, {&predicted});
  return write(path, text.str());
}

Result<void> export_answer(const PredictedPlan& plan, const QString& path) { return write(path, to_json(plan.answer)); }

Result<void> export_table(const QAbstractItemModel& table, const QString& path) {
  QString text = row_of(table, [&](int column) { return table.headerData(column, Qt::Horizontal, Qt::DisplayRole); });
  for (int row = 0; row < table.rowCount(); ++row) {
    text += row_of(table, [&](int column) { return table.data(table.index(row, column), Qt::DisplayRole); });
  }
  return write(path, text.toStdString());
}

QString csv_field(const QString& text) {
  const bool plain = !text.contains(',') && !text.contains('"') && !text.contains('\n') && !text.contains('\r');
  return plain ? text : QStringLiteral("\"%1\"").arg(QString(text).replace('"', QStringLiteral("\"\"")));
}

}  // namespace plimsoll::gui
