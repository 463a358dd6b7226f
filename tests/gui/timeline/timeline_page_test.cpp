#include <catch2/catch.hpp>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include <fstream>

#include "formats/plans/plan_json.h"
#include "gui/language/say.h"
#include "gui/timeline/build_timeline.h"
#include "gui/timeline/side_panel.h"
#include "gui/timeline/timeline_page.h"
#include "gui/timeline/timeline_view.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/gui/timeline/qt_program.h"
#include "tests/gui/timeline/tiny_run.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::gui;
using plimsoll::test::begin_qt;
using plimsoll::test::comes_true;
using plimsoll::test::tiny_run_file;

namespace {

SharedTimeline simulated_timeline() {
  static const SharedTimeline known = [] {
    const auto plan = lower_to_plan(test::small_model(Family::kGpt2, 2), test::small_recipe(2), test::tiny_platform(),
                                    {.recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost});
    const auto trace = simulate(*plan, "step", CatalogueCostModel(), {.steps = 4});
    return build_timeline(std::make_shared<const Plan>(*plan), *trace);
  }();
  return known;
}

/// A shown page with a simulated step.
struct Shown {
  Shown() {
    page.resize(1300, 800);
    page.apply_theme(light_theme());
    page.retranslate();
    page.show();
    page.show_timelines({{"plan", simulated_timeline()}}, QString::fromStdString(CatalogueCostModel().source()));
  }
  TimelineView& view() { return page.view(); }
  [[nodiscard]] const Timeline& timeline() { return *view().scene().sources[0].timeline; }
  /// Where the middle of an event is in the viewport.
  QPoint middle_of(const EventRef& ref) {
    const auto row = row_of(view().scene(), {0, ref});
    REQUIRE(row);
    const LaneEvent event = event_at(timeline(), ref);
    const double x = view().state().scale.x_of(static_cast<double>(event.start + event.end) / 2);
    const int y =
        ViewMetrics::kRows + view().scene().rows[*row].top + view().scene().rows[*row].height / 2 - view().state().scroll;
    return {static_cast<int>(x), y};
  }
  void turn_wheel(const QPointF& at, int notches, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent wheel(at, view().viewport()->mapToGlobal(at), {}, QPoint(0, 120 * notches), Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(view().viewport(), &wheel);
  }
  /// Zooms until the event is wide, and clicks it.
  void click(const EventRef& ref) {
    const LaneEvent event = event_at(timeline(), ref);
    view().show_range(static_cast<double>(event.start), static_cast<double>(event.end), 0.3);
    QTest::mouseClick(view().viewport(), Qt::LeftButton, Qt::NoModifier, middle_of(ref));
  }
  EventRef some(const char* name) {
    const auto found = next_match(timeline(), EventQuery(timeline(), name), std::nullopt);
    REQUIRE(found);
    return *found;
  }

  TimelinePage page;
};

}  // namespace

TEST_CASE("the page shows the step that stands for the others, with a row a queue that ran") {
  begin_qt();
  Shown shown;
  const StepMark& step = *shown.timeline().step(shown.timeline().typical_step());
  CHECK(step.step == 2);
  CHECK(shown.view().state().scale.begin <= static_cast<double>(step.begin));
  CHECK(shown.view().state().scale.end() >= static_cast<double>(step.end));
  CHECK(shown.view().scene().rows.size() >= 4);
  CHECK_FALSE(shown.page.grab().isNull());
}

TEST_CASE("the wheel zooms at the pointer, with Shift it pans") {
  begin_qt();
  Shown shown;
  const TimeScale before = shown.view().state().scale;
  shown.turn_wheel({500, 200}, 1);
  const TimeScale closer = shown.view().state().scale;
  CHECK(closer.span() == Approx(0.8 * before.span()));
  CHECK(closer.time_at(500) == Approx(before.time_at(500)));
  shown.turn_wheel({500, 200}, 1, Qt::ShiftModifier);
  CHECK(shown.view().state().scale.begin < closer.begin);
  CHECK(shown.view().state().scale.span() == Approx(closer.span()));
}

TEST_CASE("W S A D zoom and pan, Home shows everything") {
  begin_qt();
  Shown shown;
  const double span = shown.view().state().scale.span();
  QTest::keyClick(&shown.view(), Qt::Key_W);
  CHECK(shown.view().state().scale.span() == Approx(0.8 * span));
  const double begin = shown.view().state().scale.begin;
  QTest::keyClick(&shown.view(), Qt::Key_D);
  CHECK(shown.view().state().scale.begin > begin);
  QTest::keyClick(&shown.view(), Qt::Key_A);
  CHECK(shown.view().state().scale.begin == Approx(begin));
  QTest::keyClick(&shown.view(), Qt::Key_S);
  CHECK(shown.view().state().scale.span() == Approx(span));
  QTest::keyClick(&shown.view(), Qt::Key_Home);
  CHECK(shown.view().state().scale.begin == shown.timeline().bounds.begin);
  CHECK(shown.view().state().scale.end() == Approx(shown.timeline().bounds.end));
}

TEST_CASE("a click on an operation shows its details, its cost's origin and its dependencies") {
  begin_qt();
  Shown shown;
  const EventRef copy = shown.some("copy");
  shown.click(copy);
  REQUIRE(shown.view().state().selected);
  CHECK(shown.view().state().selected->ref == copy);
  CHECK(shown.page.panel().details_text().contains(say("Alone")));
  const bool told =
      shown.page.panel().details_text().contains("catalogue") || shown.page.panel().details_text().contains("extrapolated");
  CHECK(told);
  CHECK_FALSE(shown.view().state().before.empty());
  QTest::keyClick(&shown.view(), Qt::Key_BracketLeft);
  REQUIRE(shown.view().state().selected);
  CHECK_FALSE(shown.view().state().selected->ref == copy);
  QTest::keyClick(&shown.view(), Qt::Key_Escape);
  CHECK_FALSE(shown.view().state().selected);
}

TEST_CASE("full stop and comma go along a track") {
  begin_qt();
  Shown shown;
  EventRef ref = shown.some("linear");
  shown.click(ref);
  QTest::keyClick(&shown.view(), Qt::Key_Period);
  CHECK(shown.view().state().selected->ref.index == ref.index + 1);
  QTest::keyClick(&shown.view(), Qt::Key_Comma);
  CHECK(shown.view().state().selected->ref.index == ref.index);
}

TEST_CASE("dragging a stretch adds it up, and a click elsewhere keeps it until Escape") {
  begin_qt();
  Shown shown;
  QAbstractItemModelTester tester(&shown.page.panel().model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
  QWidget* viewport = shown.view().viewport();
  QTest::mousePress(viewport, Qt::LeftButton, Qt::NoModifier, {300, 120});
  QTest::mouseMove(viewport, {420, 120});
  QTest::mouseRelease(viewport, Qt::LeftButton, Qt::NoModifier, {420, 120});
  REQUIRE(shown.view().state().range);
  const TimeBounds range = *shown.view().state().range;
  CHECK(range.begin == Approx(shown.view().state().scale.time_at(300)));
  CHECK(range.end == Approx(shown.view().state().scale.time_at(420)));
  CHECK(shown.page.panel().model().statistics().begin == range.begin);
  CHECK(shown.page.panel().model().rowCount() > 0);
  QTest::keyClick(&shown.view(), Qt::Key_Escape);
  CHECK_FALSE(shown.view().state().range);
}

TEST_CASE("dragging with Shift pans, and the minimap jumps") {
  begin_qt();
  Shown shown;
  QWidget* viewport = shown.view().viewport();
  const double begin = shown.view().state().scale.begin;
  QTest::mousePress(viewport, Qt::LeftButton, Qt::ShiftModifier, {400, 150});
  QTest::mouseMove(viewport, {450, 150});
  QTest::mouseRelease(viewport, Qt::LeftButton, Qt::ShiftModifier, {450, 150});
  CHECK(shown.view().state().scale.begin == Approx(begin - 50 * shown.view().state().scale.ns_per_pixel));
  CHECK_FALSE(shown.view().state().range);
  QTest::mouseClick(viewport, Qt::LeftButton, Qt::NoModifier, {ViewMetrics::kGutter + 2, 10});
  CHECK(shown.view().state().scale.begin == shown.timeline().bounds.begin);
}

TEST_CASE("searching finds, counts, goes to the next and comes round") {
  begin_qt();
  Shown shown;
  auto* field = shown.page.findChild<QLineEdit*>("search");
  QTest::keyClicks(field, "adamw");
  QTest::keyClick(field, Qt::Key_Return);
  REQUIRE(shown.view().state().selected);
  const EventRef first = shown.view().state().selected->ref;
  CHECK(shown.timeline().name_of(event_at(shown.timeline(), first).label) == "adamw");
  QTest::keyClick(field, Qt::Key_Return);
  CHECK_FALSE(shown.view().state().selected->ref == first);
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  CHECK(shown.view().state().selected->ref == first);
}

TEST_CASE("what the critical path leaves out grows pale") {
  begin_qt();
  Shown shown;
  const QImage plain = shown.view().grab().toImage();
  for (QToolButton* button : shown.page.findChildren<QToolButton*>()) {
    if (button->text() == "Critical path") button->setChecked(true);
  }
  CHECK(shown.view().grab().toImage() != plain);
}

TEST_CASE("a click on a memory curve says what lies there at its peak") {
  begin_qt();
  Shown shown;
  const SceneCurve& curve = shown.view().scene().curves.front();
  QTest::mouseClick(shown.view().viewport(), Qt::LeftButton, Qt::NoModifier, {400, ViewMetrics::kRows + curve.top + 20});
  CHECK(shown.page.panel().details_text().contains("parameters"));
}

TEST_CASE("where no plan fits, none is left on show") {
  begin_qt();
  TimelinePage page;
  page.apply_theme(light_theme());
  page.retranslate();
  const auto plan = simulated_timeline()->plan;
  auto found = std::make_shared<PredictedPlan>();
  found->plan = *plan;
  found->prediction.trace = trace_of_steps(*simulated_timeline(), 0, 3);
  page.show_plan(found);
  REQUIRE(comes_true([&] { return !page.busy(); }));
  CHECK(page.view().scene().sources[0].timeline->event_count() > 100);
  page.show_plan(nullptr);
  bool said_so = false;
  for (const QLabel* label : page.findChildren<QLabel*>()) said_so = said_so || label->text().startsWith("There is no plan to draw");
  CHECK(said_so);
}

TEST_CASE("a plan that is found after a file was opened is listed behind it and takes nothing from the screen") {
  begin_qt();
  const auto plan = simulated_timeline()->plan;
  TimelinePage page;
  page.resize(1200, 700);
  page.apply_theme(light_theme());
  page.retranslate();
  page.show();
  REQUIRE(page.open_file(QString::fromStdString(tiny_run_file())));
  auto found = std::make_shared<PredictedPlan>();
  found->plan = *plan;
  found->prediction.trace = trace_of_steps(*simulated_timeline(), 0, 3);
  page.show_plan(found);  // while the file is still being read
  REQUIRE(comes_true([&] { return !page.busy(); }));
  auto* list = page.findChild<QComboBox*>();
  const int files = list->count() - 1;
  REQUIRE(files >= 2);
  CHECK(list->currentIndex() == 0);
  CHECK(page.view().scene().sources[0].timeline->event_count() > 0);
  page.show_plan(nullptr);
  CHECK(list->count() == files);
  CHECK(list->currentIndex() == 0);
}

TEST_CASE("a run file of a real training opens with its measured and its predicted steps") {
  begin_qt();
  TimelinePage page;
  page.resize(1200, 700);
  page.apply_theme(dark_theme());
  page.retranslate();
  page.show();
  QSignalSpy failed(&page, &Page::failed);
  REQUIRE(page.open_file(QString::fromStdString(tiny_run_file())));
  REQUIRE(comes_true([&] { return !page.busy(); }));
  CHECK(failed.isEmpty());
  const Timeline& timeline = *page.view().scene().sources[0].timeline;
  CHECK(timeline.kind == TraceKind::kMeasured);
  CHECK(timeline.event_count() > 100);
  CHECK_FALSE(timeline.curves.empty());
  CHECK_FALSE(page.grab().isNull());
}

TEST_CASE("a truncated run file and one of another kind are refused in words, and the page stays as it was") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  std::ifstream whole(tiny_run_file(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  std::ofstream(folder.file("short.plimsoll"), std::ios::binary) << bytes.substr(0, bytes.size() / 3);
  std::ofstream(folder.file("words.plimsoll")) << "this is no database";
  for (const char* name : {"short.plimsoll", "words.plimsoll"}) {
    QSignalSpy failed(&shown.page, &Page::failed);
    REQUIRE(shown.page.open_file(QString::fromStdString(folder.file(name))));
    REQUIRE(comes_true([&] { return !shown.page.busy(); }));
    INFO(name);
    REQUIRE(failed.count() == 1);
    CHECK(failed[0][1].toString().contains(name));
    CHECK(shown.timeline().event_count() == simulated_timeline()->event_count());
  }
}

TEST_CASE("a plan's file is drawn where the page is shown, and one that breaks the law is refused in words") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  auto plan = lower_to_plan(test::small_model(Family::kGpt2, 3), test::small_recipe(2), test::tiny_platform(), {.recompute_every = 1});
  REQUIRE(plan);
  std::ofstream(folder.file("plan.json")) << write_plan(*plan);
  CHECK_FALSE(shown.page.open_file(QString::fromStdString(folder.file("plan.json"))));  // other pages take it, too
  REQUIRE(shown.page.open_here(QString::fromStdString(folder.file("plan.json"))));
  REQUIRE(comes_true([&] { return !shown.page.busy(); }));
  CHECK(shown.page.findChild<QComboBox*>()->currentText().startsWith("plan.json"));
  CHECK(shown.timeline().kind != TraceKind::kMeasured);
  CHECK(shown.timeline().event_count() != simulated_timeline()->event_count());
  const std::size_t drawn = shown.timeline().event_count();
  std::string text = write_plan(*plan);
  std::ofstream(folder.file("broken.json")) << text.substr(0, text.size() / 2);
  QSignalSpy failed(&shown.page, &Page::failed);
  REQUIRE(shown.page.open_here(QString::fromStdString(folder.file("broken.json"))));
  REQUIRE(comes_true([&] { return !shown.page.busy(); }));
  REQUIRE(failed.count() == 1);
  CHECK(failed[0][1].toString().contains("broken.json"));
  CHECK(shown.timeline().event_count() == drawn);
}

TEST_CASE("a trace of another program opens: a track a thread, nested slices one lane deeper") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  std::ofstream(folder.file("kineto.json"))
      << R"({"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7"}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.5, "dur": 4, "args": {"name": "not this", "stream": 7}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 8, "ts": 9, "dur": 1},
{"ph": "B", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 9},
{"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 10, "dur": 2},
{"ph": "E", "pid": 1, "tid": 1, "ts": 20},
{"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 12}]})";
  REQUIRE(shown.page.open_file(QString::fromStdString(folder.file("kineto.json"))));
  REQUIRE(comes_true([&] { return !shown.page.busy(); }));
  const Timeline& timeline = shown.timeline();
  CHECK(timeline.event_count() == 4);
  REQUIRE(timeline.tracks.size() == 3);
  CHECK(timeline.tracks[0].name == "gpu0 · stream 7");
  const LaneEvent gemm = timeline.tracks[0].lanes[0].at(0);  // begins 1.5 us after the first slice
  CHECK(gemm.start == 1500);
  CHECK(gemm.end == 5500);
  REQUIRE(timeline.tracks[2].lanes.size() == 2);
  CHECK(timeline.name_of(timeline.tracks[2].lanes[0].label(0)) == "outer");
  CHECK(timeline.name_of(timeline.tracks[2].lanes[1].label(0)) == "inner");
  shown.click({0, 0, 0});
  CHECK(shown.view().state().selected->ref == EventRef{0, 0, 0});
  CHECK_FALSE(shown.page.grab().isNull());
}

TEST_CASE("a foreign trace that is cut off is refused with the byte") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  std::ofstream(folder.file("cut.json")) << R"({"traceEvents": [{"ph": "X", "name": "a", "pid": 0, "tid": 1, "ts": 1, "du)";
  QSignalSpy failed(&shown.page, &Page::failed);
  REQUIRE(shown.page.open_file(QString::fromStdString(folder.file("cut.json"))));
  REQUIRE(comes_true([&] { return !shown.page.busy(); }));
  REQUIRE(failed.count() == 1);
  CHECK(failed[0][1].toString().contains("cut.json"));
  CHECK(failed[0][1].toString().contains("byte"));
}
