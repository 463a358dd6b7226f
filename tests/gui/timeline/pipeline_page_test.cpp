#include <catch2/catch.hpp>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QSignalSpy>
#include <QTest>
#include <QUndoStack>
#include <QWheelEvent>

#include <fstream>

#include "gui/fields/step_field.h"
#include "gui/pipelines/pipeline_page.h"
#include "sim/schedule/make_schedule.h"
#include "tests/gui/timeline/qt_program.h"
#include "tests/support/temporary_folder.h"

using namespace plimsoll;
using namespace plimsoll::gui;
using plimsoll::test::begin_qt;
using plimsoll::test::comes_true;

namespace {

/// A shown page with its undo stack.
struct Shown {
  Shown() {
    page.resize(1300, 800);
    page.apply_theme(light_theme());
    page.retranslate();
    page.show();
    settle();
  }
  void settle() {
    REQUIRE(comes_true([&] { return !page.busy(); }));
  }
  StepField* field(const char* name) { return page.findChild<StepField*>(name); }
  double makespan() { return page.pipeline()->costs.units(page.pipeline()->timing.makespan); }

  QUndoStack undo;
  Theme theme = light_theme();
  PageContext context{.undo = undo, .theme = theme, .engine = {}, .choices = {}};
  PipelinePage page{context};
};

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("switching schedule and micro-batches changes the bubble at once, and undo brings it back") {
  begin_qt();
  Shown shown;
  // 1f1b, 4 ranks, 8 micro-batches of F 1 and B 2: (8 + 4 − 1) · 3 = 33; idle (4 − 1) ÷ 11.
  CHECK(shown.makespan() == Approx(33));
  CHECK(shown.page.pipeline()->timing.bubble_fraction() == Approx(3.0 / 11));
  CHECK(shown.page.summary().contains("27.3 %"));
  shown.field("pipelines.micro_batches")->box()->setValue(32);
  shown.settle();
  CHECK(shown.page.pipeline()->timing.bubble_fraction() == Approx(3.0 / 35));
  shown.page.findChild<QComboBox*>("pipelines.schedule")->setCurrentText("zb-h1");
  shown.settle();
  CHECK(shown.page.pipeline()->timing.bubble_fraction() < 3.0 / 35);
  shown.undo.undo();
  shown.undo.undo();
  shown.settle();
  CHECK(shown.makespan() == Approx(33));
  CHECK(shown.page.findChild<QComboBox*>("pipelines.schedule")->currentText() == "1f1b");
}

TEST_CASE("every schedule that has a name is drawn, or says in words why it cannot be") {
  begin_qt();
  Shown shown;
  auto* list = shown.page.findChild<QComboBox*>("pipelines.schedule");
  REQUIRE(list->count() == static_cast<int>(schedule_kinds().size()));
  for (int i = 0; i < list->count(); ++i) {
    list->setCurrentIndex(i);
    shown.settle();
    INFO(list->itemText(i).toStdString());
    REQUIRE(shown.page.pipeline() != nullptr);
    CHECK(shown.makespan() > 0);
    CHECK_FALSE(shown.page.grab().isNull());
  }
}

TEST_CASE("sizes that a schedule does not have are refused in words, and what is typed stays") {
  begin_qt();
  Shown shown;
  shown.page.findChild<QComboBox*>("pipelines.schedule")->setCurrentText("chimera");
  shown.field("pipelines.ranks")->box()->setValue(3);
  shown.settle();
  CHECK(shown.page.pipeline() == nullptr);
  CHECK(shown.page.summary().contains("chimera"));
  CHECK(shown.page.choices().ranks == 3);
  CHECK_FALSE(shown.page.write_svg("/nowhere/x.svg"));
  shown.field("pipelines.ranks")->box()->setValue(4);
  shown.settle();
  CHECK(shown.page.pipeline() != nullptr);
}

TEST_CASE("a slower backward makes the step longer") {
  begin_qt();
  Shown shown;
  shown.page.findChild<QDoubleSpinBox*>("pipelines.weight_gradient")->setValue(2);
  shown.settle();
  CHECK(shown.makespan() == Approx(44));  // (8 + 4 − 1) · (1 + 1 + 2)
}

TEST_CASE("a user's own orders are read, drawn and written again") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  REQUIRE(shown.page.write_csv(QString::fromStdString(folder.file("orders.csv"))));
  REQUIRE(shown.page.write_svg(QString::fromStdString(folder.file("drawing.svg"))));
  const auto before = shown.page.pipeline();
  shown.page.findChild<QComboBox*>("pipelines.schedule")->setCurrentText("gpipe");
  shown.settle();
  REQUIRE(shown.page.open_file(QString::fromStdString(folder.file("orders.csv"))));
  shown.settle();
  CHECK(shown.page.pipeline()->schedule.orders == before->schedule.orders);
}

TEST_CASE("a wrong file of orders is refused with its line, and the drawing stays") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  write(folder.file("bad.csv"), "0F0,0F1\nx9,1F0\n");
  QSignalSpy failed(&shown.page, &Page::failed);
  REQUIRE(shown.page.open_file(QString::fromStdString(folder.file("bad.csv"))));
  REQUIRE(failed.count() == 1);
  CHECK(failed[0][1].toString().contains("bad.csv"));
  CHECK(shown.page.pipeline() != nullptr);
}

TEST_CASE("orders that wait for each other are refused by name") {
  begin_qt();
  Shown shown;
  const TemporaryFolder folder;
  write(folder.file("stuck.csv"), "0B0,0F0\n1F0,1B0\n");
  REQUIRE(shown.page.open_file(QString::fromStdString(folder.file("stuck.csv"))));
  shown.settle();
  CHECK(shown.page.pipeline() == nullptr);
  CHECK(shown.page.summary().contains("stuck.csv"));
}

TEST_CASE("the wheel and W zoom into the schedule, Home shows all of it") {
  begin_qt();
  Shown shown;
  auto* view = shown.page.findChild<PipelineView*>();
  REQUIRE(view != nullptr);
  const double whole = view->scale().span();
  const QPointF at(400, 100);
  QWheelEvent wheel(at, view->viewport()->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                    false);
  const double time = view->scale().time_at(400);
  QCoreApplication::sendEvent(view->viewport(), &wheel);
  CHECK(view->scale().span() == Approx(0.8 * whole));
  CHECK(view->scale().time_at(400) == Approx(time));
  QTest::keyClick(view, Qt::Key_W);
  CHECK(view->scale().span() == Approx(0.64 * whole));
  QTest::keyClick(view, Qt::Key_Home);
  CHECK(view->scale().span() == Approx(whole));
}
