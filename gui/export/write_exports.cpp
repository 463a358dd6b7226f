#include "gui/export/write_exports.h"

#include <QAbstractItemModel>
#include <QFileInfo>

#include <functional>
#include <sstream>

#include <fmt/format.h>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/strategy_json.h"
#include "formats/runs/chrome_trace.h"
#include "formats/runs/perfetto_trace.h"
#include "formats/runs/report_json.h"
#include "formats/runs/trace_csv.h"
#include "formats/text/csv.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/lower_to_plan.h"

namespace plimsoll::gui {
namespace {

Result<QStringList> write(const QString& path, const std::string& text) {
  try {
    write_text_file(path.toStdString(), text);
    return QStringList();
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

using Traces = std::vector<const NamedTrace*>;

Result<QStringList> write_traces(const PredictedPlan& plan, const QString& path,
                                 const std::function<void(std::ostream&, const Plan&, const Traces&)>& writer) {
  const NamedTrace predicted{.name = "predicted", .trace = plan.prediction.trace};
  std::ostringstream text;
  writer(text, plan.plan, {&predicted});
  return write(path, text.str());
}

/// What was predicted, in the words of `plimsoll export`.
void foretell(const PredictedPlan& plan, ExportedTraining& training) {
  const FitAnswer& answer = plan.answer;
  training.foretold.push_back(fmt::format("{} on {}: {:.4g} s a step, {:.4g} tokens a second, run by plimsoll",
                                          answer.fits ? "fits" : "does not fit", plan.plan.platform.name, answer.step_seconds,
                                          answer.tokens_per_second));
  for (const SpaceAnswer& space : answer.memory) {
    training.foretold.push_back(
        fmt::format("{}: needs {} of {} usable", space.space, to_text(space.peak), to_text(space.usable)));
  }
}

QString row_of(const QAbstractItemModel& table, const std::function<QVariant(int column)>& cell) {
  QStringList fields;
  for (int column = 0; column < table.columnCount(); ++column) fields << csv_field(cell(column).toString());
  return fields.join(',') + QStringLiteral("\r\n");
}

}  // namespace

Result<QStringList> export_plan(const PredictedPlan& plan, const QString& path) {
  const Plan& shown = plan.plan;
  const auto whole = lower_to_plan(shown.spec, shown.recipe, shown.platform, shown.strategy, {.evaluation = true});
  if (!whole) return fail(whole.error());
  if (const auto verified = verify_plan(*whole); !verified) return fail(verified.error());
  return write(path, write_plan(*whole));
}

Result<QStringList> export_strategy(const PredictedPlan& plan, const QString& path) {
  return write(path, write_strategy(plan.plan.strategy));
}

Result<QStringList> export_trace(const PredictedPlan& plan, const QString& path) {
  return write_traces(
      plan, path, [](std::ostream& out, const Plan& of, const Traces& traces) { write_chrome_trace(out, of, traces); });
}

Result<QStringList> export_perfetto(const PredictedPlan& plan, const QString& path) {
  return write_traces(plan, path, [](std::ostream& out, const Plan& of, const Traces& traces) {
    write_perfetto_trace(out, of, traces);
  });
}

Result<QStringList> export_events(const PredictedPlan& plan, const QString& path) {
  return write_traces(plan, path, write_trace_csv);
}

Result<QStringList> export_answer(const PredictedPlan& plan, const QString& path) { return write(path, to_json(plan.answer)); }

Result<QStringList> export_program(const PredictedPlan& plan, ExportTarget target, const QString& path) {
  auto training = exported_training(plan.plan);
  if (!training) return fail(training.error());
  foretell(plan, *training);
  const auto made = export_training(target, *training);
  if (!made) return fail(made.error());
  const QFileInfo file(path);
  const QString script = file.path() + '/' + file.completeBaseName() + QStringLiteral(".py");
  if (!made->script.empty() && script == path) {
    return fail({.kind = ErrorKind::kInput, .what = "the script beside it would have the same name", .where = path.toStdString(),
                 .remedy = "end the name with .json"});
  }
  if (const auto written = write(path, made->text); !written) return written;
  QStringList notes;
  if (!made->script.empty()) {
    if (const auto written = write(script, made->script); !written) return written;
    notes << QString::fromStdString(fmt::format("wrote {}, which applies it", script.toStdString()));
  }
  for (const std::string& note : made->notes) notes << QString::fromStdString(note);
  return notes;
}

Result<QStringList> export_table(const QAbstractItemModel& table, const QString& path) {
  QString text = row_of(table, [&](int column) { return table.headerData(column, Qt::Horizontal, Qt::DisplayRole); });
  for (int row = 0; row < table.rowCount(); ++row) {
    text += row_of(table, [&](int column) { return table.data(table.index(row, column), Qt::DisplayRole); });
  }
  return write(path, text.toStdString());
}

QString csv_field(const QString& text) { return QString::fromStdString(plimsoll::csv_field(text.toStdString())); }

}  // namespace plimsoll::gui
