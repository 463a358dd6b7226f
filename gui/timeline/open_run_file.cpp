#include "gui/timeline/open_run_file.h"

#include <QFileInfo>

#include <algorithm>
#include <fstream>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/text/read_text_file.h"
#include "gui/app/plan_file.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/timeline/build_timeline.h"
#include "gui/timeline/open_recording.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/planner/predict.h"
#include "sim/stack/lowering/allocation_events.h"

namespace plimsoll::gui {

bool looks_like_database(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::ifstream file(path, std::ios::binary);
  std::string begin(kMagic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file.gcount() == static_cast<std::streamsize>(kMagic.size()) && begin == kMagic;
}

Result<std::vector<NamedTimeline>> open_run_file(const std::string& path) {
  const auto file = read_run_file(path);
  if (!file) return fail(file.error());
  std::vector<NamedTimeline> timelines;
  for (const NamedTrace& named : file->traces) {
    if (named.trace.events.empty()) continue;
    auto timeline = build_timeline(*file, named, path);
    if (!timeline) return fail(timeline.error());
    timelines.push_back({named.name, std::move(*timeline)});
  }
  if (timelines.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "no step of this run was traced, so there is nothing to draw",
                 .where = path,
                 .remedy = "open the file of a run that reached its second step"});
  }
  std::stable_partition(timelines.begin(), timelines.end(), [](const NamedTimeline& named) { return named.name == "run"; });
  return timelines;
}

namespace {

Result<std::vector<NamedTimeline>> open_trace(const std::string& path) {
  auto timeline = open_recording(path);
  if (!timeline) return fail(timeline.error());
  return std::vector<NamedTimeline>{{"trace", std::move(*timeline)}};
}

/// The predicted steps of a plan of ours, by the catalogue's costs.
Result<std::vector<NamedTimeline>> open_plan(const std::string& path) {
  constexpr Bytes kLargestPlan{std::int64_t{1} << 30};
  const auto text = read_text_file(path, kLargestPlan);
  if (!text) return fail(text.error());
  auto plan = read_plan(*text, path);
  if (!plan) return fail(plan.error());
  if (allocates_while_running(*plan)) {
    return fail({.kind = ErrorKind::kInput, .what = "the plan is another program's, whose times are in its own file alone", .where = path,
                 .remedy = "plimsoll plan --timeline run.plimsoll writes its steps for this page"});
  }
  if (const auto verified = verify_plan(*plan); !verified) return fail(verified.error());
  const auto predicted = predict(*plan, CatalogueCostModel());
  if (!predicted) return fail(predicted.error());
  return std::vector<NamedTimeline>{{QFileInfo(QString::fromStdString(path)).fileName().toStdString(),
                                     build_timeline(std::make_shared<const Plan>(std::move(*plan)), predicted->trace)}};
}

}  // namespace

bool TimelinePage::open_file(const QString& path) {
  const bool named_so = path.endsWith(QLatin1String(".plimsoll"), Qt::CaseInsensitive);
  const bool database = named_so || looks_like_database(path.toStdString());
  if (!database && !looks_like_recording(path.toStdString())) return false;
  const bool run = database && !is_foreign_recording(path.toStdString());
  read(path, run ? open_run_file : open_trace, run ? say("Cannot open the run file") : say("Cannot open the trace"));
  return true;
}

bool TimelinePage::open_here(const QString& path) {
  if (!looks_like_plan(path)) return open_file(path);
  read(path, open_plan, say("Cannot open the plan"));
  return true;
}

void TimelinePage::read(const QString& path, OpenTimelines open, const QString& title) {
  const bool before = of_file_;
  of_file_ = true;  // from now on: a plan that is found while it is read comes second
  if (current() == nullptr) set_empty(say("Reading %1…").arg(QFileInfo(path).fileName()));
  job_->start([this, path, open, title, before](const Stop&, const LatestJob::Deliver& deliver) {
    auto opened = open(path.toStdString());
    deliver([this, path, title, before, opened = std::move(opened)] {
      if (!opened) {
        of_file_ = before;
        retell();
        Q_EMIT failed(title, say_engine(opened.error().text()));
        return;
      }
      const bool known = (of_plan_ || plan_listed_) && !timelines_.empty();
      const SharedTimeline plan = known ? timelines_.back().timeline : nullptr;
      of_plan_ = false;
      show_timelines(*opened, {});
      if (plan != nullptr) list_plan(plan, {});
      Q_EMIT said(say("%1: %2 operations").arg(QFileInfo(path).fileName()).arg(current()->event_count()));
    });
  });
}

}  // namespace plimsoll::gui
