#include <catch2/catch.hpp>

#include <QAction>
#include <QFileInfo>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/text/read_text_file.h"
#include "gui/compare/compare_page.h"
#include "gui/explore/explore_page.h"
#include "gui/export/write_exports.h"
#include "gui/fields/step_field.h"
#include "gui/pipelines/pipeline_page.h"
#include "gui/run/run_page.h"
#include "gui/run/runs_model.h"
#include "gui/timeline/timeline_page.h"
#include "gui/timeline/timeline_view.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

template <typename Shown>
Shown& go_to(MainWindow& window, const char* name) {
  auto* button = window.findChild<QToolButton*>(QStringLiteral("rail.") + name);
  REQUIRE(button != nullptr);
  QTest::mouseClick(button, Qt::LeftButton);
  auto* page = dynamic_cast<Shown*>(window.current_page());
  REQUIRE(page != nullptr);
  return *page;
}

bool settled(const Page& page) {
  return test::wait_until([&] { return !page.busy(); });
}

/// Trains the exported plan for some steps, begun by a click; the file of its run.
QString train(MainWindow& window, const TemporaryFolder& folder, const QString& plan) {
  auto& page = go_to<RunPage>(window, "run");
  RunChoices choices;
  choices.model = plan;
  choices.data = QStringLiteral(PLIMSOLL_SAMPLE_TEXT);
  choices.folder = QString::fromStdString(folder.file("runs"));
  choices.steps = 12;
  page.choose(choices, "all");
  std::optional<RunEnd> end;
  QObject::connect(&page, &RunPage::runEnded, [&](const RunEnd& ended) { end = ended; });
  QTest::mouseClick(page.findChild<QPushButton*>("run.start"), Qt::LeftButton);
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  INFO(end->text.toStdString());
  REQUIRE(end->kind == RunEnd::Kind::kDone);
  return end->file;
}

/// The plan that is shown, in a file, and lawful.
QString exported_plan(MainWindow& window, const TemporaryFolder& folder) {
  const QString plan_file = QString::fromStdString(folder.file("plan.json"));
  REQUIRE(window.plan() != nullptr);
  REQUIRE(export_plan(*window.plan(), plan_file));
  const auto text = read_text_file(plan_file.toStdString(), Bytes(1 << 28));
  REQUIRE(text);
  const auto plan = read_plan(*text, plan_file.toStdString());
  REQUIRE(plan);
  CHECK(verify_plan(*plan));
  return plan_file;
}

/// Chooses the run in the list and clicks to compare it.
void compare_only_run(MainWindow& window) {
  auto* runs = window.page("run")->findChild<QTableView*>("runs");
  REQUIRE(test::wait_until([&] { return runs->model()->rowCount() == 1; }));
  runs->setCurrentIndex(runs->model()->index(0, 0));
  QPushButton* compare = nullptr;
  for (auto* button : window.page("run")->findChildren<QPushButton*>()) {
    if (button->text() == "Compare with its prediction") compare = button;
  }
  REQUIRE(compare != nullptr);
  QTest::mouseClick(compare, Qt::LeftButton);
}

}  // namespace

TEST_CASE(
    "the whole way: a model is chosen, a slider turned, its plan looked at, exported, run, and compared with what was said") {
  const TemporaryFolder folder;
  const auto window = test::make_window(
      folder, {{"model", "gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32"}, {"on", "this"}, {"ram", "1GiB"}});
  auto& explore = go_to<ExplorePage>(*window, "explore");
  REQUIRE(settled(explore));
  REQUIRE(explore.verdict() != nullptr);
  const auto before = explore.verdict()->plan->answer.step_seconds;
  explore.findChild<StepField*>("batch")->slider()->setValue(2);  // the third of 1, 2, 4 …
  REQUIRE(settled(explore));
  REQUIRE(explore.choices().batch == 4);
  REQUIRE(explore.verdict() != nullptr);
  CHECK_FALSE(explore.verdict()->plan->answer.step_seconds == before);

  auto& timeline = go_to<TimelinePage>(*window, "timeline");
  REQUIRE(settled(timeline));
  CHECK_FALSE(timeline.view().scene().sources.empty());

  const QString plan_file = exported_plan(*window, folder);
  const QString run_file = train(*window, folder, plan_file);
  REQUIRE(QFileInfo::exists(run_file));
  compare_only_run(*window);
  auto* compared = dynamic_cast<ComparePage*>(window->current_page());
  REQUIRE(compared != nullptr);
  REQUIRE(test::wait_until([&] { return compared->steps() != nullptr; }));
  CHECK(compared->steps()->first->kind == TraceKind::kPredicted);
  CHECK(compared->steps()->second->kind == TraceKind::kMeasured);
  CHECK(compared->steps()->matched() == 1.0);

  auto& pipelines = go_to<PipelinePage>(*window, "pipelines");
  REQUIRE(settled(pipelines));
  CHECK(pipelines.pipeline() != nullptr);
  CHECK(window->problems().isEmpty());
}

TEST_CASE("what cannot be shown is known to the window, for the script that took a picture of it") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "no-such-model"}, {"on", "RTX 2060 6GB"}});
  REQUIRE(settled(*window->page("explore")));
  REQUIRE(window->problems().size() == 1);
  CHECK(window->problems().front().contains("no-such-model"));
  CHECK_FALSE(window->open_file(QString::fromStdString(folder.file("nothing.json"))));
  CHECK(window->problems().size() == 2);
}
