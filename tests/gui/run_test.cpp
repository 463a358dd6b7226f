#include <catch2/catch.hpp>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QProcess>
#include <QPushButton>
#include <QTest>

#include <signal.h>

#include <cmath>

#include "formats/runs/run_file.h"
#include "gui/explore/explore_page.h"
#include "gui/export/write_exports.h"
#include "gui/run/line_chart.h"
#include "gui/run/run_page.h"
#include "gui/run/runs_model.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

const QHash<QString, QString> kStart{{"model", "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=64"}};

RunPage& run_page(MainWindow& window) {
  auto* page = dynamic_cast<RunPage*>(window.page("run"));
  REQUIRE(page != nullptr);
  return *page;
}

RunChoices tiny(const TemporaryFolder& folder, std::int64_t steps) {
  RunChoices choices;
  choices.model = QStringLiteral("gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32");
  choices.data = QStringLiteral(PLIMSOLL_SAMPLE_TEXT);
  choices.folder = QString::fromStdString(folder.file("runs"));
  choices.steps = steps;
  choices.device_memory_mib = 32;
  return choices;
}

}  // namespace

TEST_CASE("a run of a tiny model is started by a click, watched, and stands in the list with its file") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  RunPage& page = run_page(*window);
  page.choose(tiny(folder, 20), "all");
  std::optional<RunEnd> end;
  QObject::connect(&page, &RunPage::runEnded, [&](const RunEnd& ended) { end = ended; });
  QTest::mouseClick(page.findChild<QPushButton*>("run.start"), Qt::LeftButton);
  CHECK(page.process().running());
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  INFO(end->text.toStdString());
  REQUIRE(end->kind == RunEnd::Kind::kDone);
  CHECK(page.loss_chart().count() == 20);
  const auto run = read_run_file(end->file.toStdString());
  REQUIRE(run);
  CHECK(run->steps().size() == 20);
  auto* runs = page.findChild<RunsModel*>();
  REQUIRE(test::wait_until([&] { return runs->rowCount() == 1; }));
  CHECK(runs->runs().front().finished);
  CHECK(runs->runs().front().steps == 20);
  CHECK(runs->runs().front().step_seconds > 0);
}

TEST_CASE("a run on the GPU asks for it with all that it has; where there is none, that is said and nothing is lost") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  RunPage& page = run_page(*window);
  page.choose(tiny(folder, 2), "all");
  auto* backend = page.findChild<QComboBox*>("run.backend");
  REQUIRE(backend != nullptr);
  CHECK_FALSE(run_arguments(page.choices(), "r").contains("--backend"));
  backend->setCurrentIndex(1);
  Q_EMIT backend->activated(1);
  const QStringList words = run_arguments(page.choices(), "r");
  CHECK(words.mid(words.indexOf("--backend"), 2) == QStringList{"--backend", "cuda"});
  CHECK_FALSE(words.contains("--device-memory"));
  CHECK_FALSE(page.findChild<QWidget*>("run.ram")->isEnabled());
  if (QFileInfo::exists("/dev/nvidiactl")) return;
  std::optional<RunEnd> end;
  QObject::connect(&page, &RunPage::runEnded, [&](const RunEnd& ended) { end = ended; });
  page.start();
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  CHECK(end->kind == RunEnd::Kind::kFailed);
  CHECK_FALSE(end->text.isEmpty());
  backend->setCurrentIndex(0);
  Q_EMIT backend->activated(0);
  CHECK(page.findChild<QWidget*>("run.ram")->isEnabled());
}

TEST_CASE("a stopped run ends after its step and keeps a checkpoint; a killed one is said in words") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  RunPage& page = run_page(*window);
  page.choose(tiny(folder, 100'000), "all");
  std::optional<RunEnd> end;
  QObject::connect(&page, &RunPage::runEnded, [&](const RunEnd& ended) { end = ended; });
  page.start();
  REQUIRE(test::wait_until([&] { return page.loss_chart().count() > 3; }));
  page.stop();
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  CHECK(end->kind == RunEnd::Kind::kInterrupted);
  CHECK(end->text.contains("checkpoint"));
  CHECK(QFileInfo::exists(end->file));

  end.reset();
  page.start();
  REQUIRE(test::wait_until([&] { return page.loss_chart().count() > 3; }));
  const_cast<RunProcess&>(page.process()).kill();
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  CHECK(end->kind == RunEnd::Kind::kFailed);
  CHECK(test::reported(*window).contains("killed"));
}

TEST_CASE("a run that cannot start says why, and what the program itself refused") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  RunPage& page = run_page(*window);
  RunChoices choices = tiny(folder, 10);
  choices.data = "/no/such/data.txt";
  page.choose(choices, "all");
  page.start();
  CHECK(test::reported(*window).contains("data file"));
  choices = tiny(folder, 10);
  choices.model = "no-such-model";
  page.choose(choices, "model");
  page.start();
  CHECK(test::reported(*window).contains("no-such-model"));
}

TEST_CASE("without the program a run is a message, not a crash") {
  test::start_qt();
  RunProcess process(QStringLiteral("/no/such/plimsoll"));
  std::optional<RunEnd> end;
  QObject::connect(&process, &RunProcess::ended, [&](const RunEnd& ended) { end = ended; });
  process.start({"x"});
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  CHECK(end->kind == RunEnd::Kind::kFailed);
  CHECK(end->text.contains("/no/such/plimsoll"));
}

TEST_CASE("progress lines are read by their event; others and broken ones are skipped") {
  const auto step = parse_progress(R"({"event":"step","step":3,"end_step":10,"loss":2.5,"seconds":0.25,"process_bytes":null,"new":1})");
  REQUIRE(step);
  CHECK(std::get<StepLine>(*step).loss == 2.5);
  CHECK_FALSE(std::get<StepLine>(*step).process_bytes);
  CHECK(std::isnan(std::get<StepLine>(*parse_progress(R"({"event":"step","loss":null})")).loss));
  CHECK(std::get<EndLine>(*parse_progress(R"({"event":"end","interrupted":true,"file":"a"})")).interrupted);
  CHECK_FALSE(parse_progress(R"({"event":"later"})"));
  CHECK_FALSE(parse_progress(R"({"event":"ste)"));
  CHECK_FALSE(parse_progress("17"));
}

TEST_CASE("the list of runs keeps the rules of item models, and names what is wrong with a damaged file") {
  test::start_qt();
  const TemporaryFolder folder;
  QFile broken(QString::fromStdString(folder.file("broken.plimsoll")));
  REQUIRE(broken.open(QIODevice::WriteOnly));
  broken.write("not a database");
  broken.close();
  RunsModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.look(QString::fromStdString(folder.path()));
  REQUIRE(test::wait_until([&] { return model.rowCount() == 1; }));
  CHECK_FALSE(model.runs().front().problem.isEmpty());
}

TEST_CASE("a plan file says batch and memory itself, so that they are not passed beside it") {
  RunChoices choices;
  choices.model = "plan.json";
  CHECK_FALSE(run_arguments(choices, "r").contains("--batch"));
  choices.model = "gpt2";
  CHECK(run_arguments(choices, "r").contains("--batch"));
  CHECK(new_run_file(choices).endsWith(".plimsoll"));
}

TEST_CASE("a plan found for this computer is exported and trained as it is") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32"}, {"on", "this"}, {"ram", "1GiB"}});
  auto& explore = dynamic_cast<ExplorePage&>(*window->page("explore"));
  REQUIRE(test::wait_until([&] { return !explore.busy(); }));
  REQUIRE(explore.verdict() != nullptr);
  CHECK(explore.verdict()->machine.find("this computer") == 0);
  const QString path = QString::fromStdString(folder.file("plan.json"));
  const auto exported = export_plan(*window->plan(), path);
  INFO((exported ? std::string() : exported.error().text()));
  REQUIRE(exported);
  RunPage& page = run_page(*window);
  REQUIRE(window->open_file(path));  // as the menu does
  CHECK(window->current_page()->name() == "run");
  CHECK(page.choices().model == path);
  RunChoices choices = tiny(folder, 12);
  choices.model = path;
  page.choose(choices, "all");
  std::optional<RunEnd> end;
  QObject::connect(&page, &RunPage::runEnded, [&](const RunEnd& ended) { end = ended; });
  page.start();
  REQUIRE(test::wait_until([&] { return end.has_value(); }));
  INFO(end->text.toStdString());
  CHECK(end->kind == RunEnd::Kind::kDone);
  const auto run = read_run_file(end->file.toStdString());
  REQUIRE(run);
  REQUIRE(run->last_plan() != nullptr);
  CHECK(run->last_plan()->strategy == window->plan()->plan.strategy);
}
