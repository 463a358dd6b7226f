#include <catch2/catch.hpp>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include "gui/compare/compare_page.h"
#include "gui/compare/split_chart.h"
#include "gui/timeline/timeline_view.h"
#include "tests/gui/timeline/qt_program.h"
#include "tests/gui/timeline/tiny_run.h"
#include "tests/support/temporary_folder.h"

using namespace plimsoll;
using namespace plimsoll::gui;
using plimsoll::test::begin_qt;
using plimsoll::test::comes_true;
using plimsoll::test::second_run_file;
using plimsoll::test::tiny_run_file;

namespace {

/// A page that shows a real run beside its prediction.
struct Shown {
  Shown() {
    page.resize(1360, 860);
    page.apply_theme(light_theme());
    page.retranslate();
    page.show();
    open(tiny_run_file());
  }
  void open(const std::string& path) {
    REQUIRE(page.open_file(QString::fromStdString(path)));
    REQUIRE(comes_true([&] { return !page.busy(); }));
  }
  void press(const char* text) {
    for (QToolButton* button : page.findChildren<QToolButton*>()) {
      if (button->text() == text) QTest::mouseClick(button, Qt::LeftButton);
    }
  }
  [[nodiscard]] std::uint32_t selected_instruction() {
    const auto& selected = page.view().state().selected;
    REQUIRE(selected);
    return event_at(*page.view().scene().sources[selected->source].timeline, selected->ref).label;
  }

  ComparePage page;
};

}  // namespace

TEST_CASE("a run lies beside its prediction on one axis, each from the begin of its step, every operation matched") {
  begin_qt();
  Shown shown;
  REQUIRE(shown.page.steps() != nullptr);
  CHECK(shown.page.steps()->first->kind == TraceKind::kPredicted);
  CHECK(shown.page.steps()->second->kind == TraceKind::kMeasured);
  CHECK(shown.page.steps()->matched() == 1.0);
  REQUIRE(shown.page.view().scene().sources.size() == 2);
  const auto& source = shown.page.view().scene().sources[1];
  CHECK(source.origin == static_cast<double>(source.timeline->step(shown.page.steps()->second_step)->begin));
  CHECK_FALSE(shown.page.grab().isNull());
}

TEST_CASE("a GPU's steps that kept no events are told beside the traced one, which took longer") {
  begin_qt();
  Shown shown;
  shown.open(std::string(PLIMSOLL_MEASURED) + "/h100-sxm5/gpt2-stream.plimsoll");
  const auto& comparison = *shown.page.steps()->comparison;
  REQUIRE(comparison.untraced_error());
  CHECK(comparison.untraced_step < comparison.measured_step);
  CHECK(shown.page.told().contains("Steps that kept no events took 21.95 ms"));
}

TEST_CASE("of two files that come at once the first one's run is held against the last one's, whatever plans they ran") {
  begin_qt();
  Shown shown;
  const QString folder = QStringLiteral(PLIMSOLL_MEASURED) + "/h100-sxm5/";
  REQUIRE(shown.page.open_file(folder + "gpt2-medium-2.5gib-zero-offload.plimsoll"));
  REQUIRE(shown.page.open_file(folder + "gpt2-medium-2.5gib-auto.plimsoll"));
  REQUIRE(comes_true([&] { return !shown.page.busy(); }));
  const ComparedSteps& steps = *shown.page.steps();
  CHECK((steps.first->kind == TraceKind::kMeasured && steps.second->kind == TraceKind::kMeasured));
  CHECK(steps.first->plan_digest != steps.second->plan_digest);
  REQUIRE(steps.comparison);
  CHECK(steps.step_time(false) == steps.comparison->predicted_step.count);
  CHECK(shown.page.told().contains("Steps that kept no events took 75.55 ms (−30.8 %)"));  // 75.55 / 109.10
  CHECK(shown.page.told().contains("different plans"));
  const auto adamw = std::find_if(steps.classes.begin(), steps.classes.end(), [](const MatchedClass& c) { return c.name == "adamw"; });
  REQUIRE(adamw != steps.classes.end());
  CHECK((adamw->first_count == 26 && adamw->second_count == 26));  // groups of parameters
  CHECK(shown.page.view().scene().sources[0].tag == "First");
}

TEST_CASE("the split's staircase ends where the second step does") {
  begin_qt();
  Shown shown;
  const auto& bars = shown.page.chart().bars();
  REQUIRE(bars.size() >= 3);
  CHECK(bars.front().to == shown.page.steps()->step_time(false));
  CHECK(bars.back().to == shown.page.steps()->step_time(true));
  CHECK(bars[bars.size() - 2].to == bars.back().to);
}

TEST_CASE("worst and first divergence are shown in both steps, joined by an arrow") {
  begin_qt();
  Shown shown;
  shown.press("Worst divergence");
  CHECK(shown.selected_instruction() == *worst_divergence(shown.page.steps()->ops));
  CHECK(shown.page.view().state().before.size() == 1);
  CHECK(shown.page.told().contains("in the first trace"));
  const auto first = first_divergence(shown.page.steps()->ops, shown.page.steps()->step_time(false));
  shown.press("First divergence");
  if (first) CHECK(shown.selected_instruction() == *first);
}

TEST_CASE("both tables are sound models, sort by any column, and lead to the operation") {
  begin_qt();
  Shown shown;
  for (const NamedTable& table : shown.page.tables()) {
    QAbstractItemModelTester tester(const_cast<QAbstractItemModel*>(table.model),
                                    QAbstractItemModelTester::FailureReportingMode::Fatal);
    CHECK(table.model->rowCount() > 3);
  }
  auto* tabs = shown.page.findChild<QTabWidget*>();
  tabs->setCurrentIndex(1);
  auto* table = qobject_cast<QTableView*>(tabs->currentWidget());
  REQUIRE(table != nullptr);
  table->sortByColumn(DifferenceModel::kDifference, Qt::DescendingOrder);
  const auto at = [&](int row) {
    return table->model()->index(row, DifferenceModel::kDifference).data(Qt::UserRole).toLongLong();
  };
  for (int row = 1; row < table->model()->rowCount(); ++row) CHECK(at(row - 1) >= at(row));
  const QRect cell = table->visualRect(table->model()->index(0, 0));
  QTest::mouseClick(table->viewport(), Qt::LeftButton, Qt::NoModifier, cell.center());
  CHECK(table->model()->index(0, DifferenceModel::kCountOrId).data().toString() ==
        QStringLiteral("#%1").arg(shown.selected_instruction()));
}

TEST_CASE("two runs of one plan are compared with each other") {
  begin_qt();
  Shown shown;
  shown.open(second_run_file());
  auto* first = shown.page.findChild<QComboBox*>("compare.first");
  auto* second = shown.page.findChild<QComboBox*>("compare.second");
  REQUIRE(first->count() >= 4);
  const int run = first->findText("run: run");
  REQUIRE(run >= 0);
  first->setCurrentIndex(run);
  Q_EMIT first->activated(run);
  REQUIRE(comes_true([&] { return !shown.page.busy(); }));
  CHECK(second->currentText() == "again: run");
  CHECK(shown.page.steps()->first->kind == TraceKind::kMeasured);
  CHECK(shown.page.steps()->second->kind == TraceKind::kMeasured);
}

TEST_CASE("a file that is no run file is refused in words, and the comparison stays") {
  begin_qt();
  Shown shown;
  const SharedSteps before = shown.page.steps();
  QSignalSpy failed(&shown.page, &Page::failed);
  shown.open("/nowhere/none.plimsoll");
  REQUIRE(failed.count() == 1);
  CHECK(failed[0][1].toString().contains("none.plimsoll"));
  CHECK(shown.page.steps() == before);
}
