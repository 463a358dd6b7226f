#include "gui/run/runs_model.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>

#include "core/trace/summarize.h"
#include "formats/runs/run_file.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr int kMostRuns = 200;  ///< of a folder that are read

void take_run(const RunFile& run, RunSummary& summary) {
  summary.finished = run.finished;
  const std::vector<StepSummary> steps = run.steps();
  summary.steps = static_cast<std::int64_t>(steps.size());
  if (!steps.empty()) summary.last_loss = steps.back().loss;
  if (const Plan* plan = run.last_plan()) {
    summary.model = QString::fromStdString(plan->spec.name);
    summary.strategy = QString::fromStdString(plan->strategy.name);
  }
  if (const NamedTrace* last = run.last_trace(); last != nullptr && !last->trace.steps.empty()) {
    const std::vector<StepSummary>& measured = last->trace.steps;
    summary.step_seconds = to_seconds(median_step(last->trace, measured.size() > 2 ? measured[1].step : 0));
  }
  if (const NamedTrace* predicted = run.trace("predicted"); predicted != nullptr && !predicted->trace.steps.empty()) {
    const std::uint32_t steady = steady_step(predicted->trace);
    for (const StepSummary& step : predicted->trace.steps) {
      if (step.step == steady) summary.predicted_seconds = to_seconds(step.duration());
    }
  }
}

}  // namespace

RunSummary summarize_run(const QString& path) {
  const QFileInfo file(path);
  RunSummary summary{.path = path, .changed = file.lastModified(), .bytes = file.size()};
  try {
    const auto run = read_run_file(path.toStdString());
    if (run) {
      take_run(*run, summary);
    } else {
      summary.problem = QString::fromStdString(run.error().what);
    }
  } catch (const EnvironmentError& error) {
    summary.problem = QString::fromStdString(error.error().what);
  }
  return summary;
}

RunsModel::RunsModel(QObject* parent) : QAbstractTableModel(parent) {}

void RunsModel::look(const QString& folder) {
  job_.start([this, folder](const Stop& stop, const LatestJob::Deliver& deliver) {
    const QFileInfoList files = QDir(folder).entryInfoList({"*.plimsoll"}, QDir::Files, QDir::Time);
    std::vector<RunSummary> runs;
    for (const QFileInfo& file : files.mid(0, kMostRuns)) {
      if (stop->load()) return;
      runs.push_back(summarize_run(file.absoluteFilePath()));
    }
    deliver([this, runs = std::move(runs)]() mutable { show_runs(std::move(runs)); });
  });
}

void RunsModel::show_runs(std::vector<RunSummary> runs) {
  beginResetModel();
  runs_ = std::move(runs);
  endResetModel();
}

void RunsModel::retranslate() {
  beginResetModel();
  endResetModel();
}

int RunsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(runs_.size()); }

int RunsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString RunsModel::text(const RunSummary& run, int column) const {
  if (column == kFile) return QFileInfo(run.path).fileName();
  if (!run.problem.isEmpty()) return column == kState ? run.problem : QString();
  switch (column) {
    case kModel: return run.model;
    case kStrategy: return run.strategy;
    case kSteps: return QLocale().toString(static_cast<qlonglong>(run.steps));
    case kLoss: return run.steps > 0 ? QLocale().toString(run.last_loss, 'f', 4) : QString();
    case kStep: return run.step_seconds > 0 ? seconds_text(run.step_seconds) : QString();
    case kPredicted: return run.predicted_seconds > 0 ? seconds_text(run.predicted_seconds) : QString();
    default: return run.finished ? say("finished") : say("interrupted");
  }
}

QVariant RunsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const RunSummary& run = runs_[static_cast<std::size_t>(index.row())];
  const bool number = index.column() >= kSteps && index.column() <= kPredicted;
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) return text(run, index.column());
  if (role == Qt::ToolTipRole) return run.path;
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft)));
  return {};
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const bool number = section >= kSteps && section <= kPredicted;
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft)));
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kFile: return say("File");
    case kModel: return say("Model");
    case kStrategy: return say("Strategy");
    case kSteps: return say("Steps");
    case kLoss: return say("Last loss");
    case kStep: return say("Step");
    case kPredicted: return say("Predicted");
    default: return say("State");
  }
}

}  // namespace plimsoll::gui
