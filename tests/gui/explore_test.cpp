#include <catch2/catch.hpp>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QTest>
#include <QUrl>

#include <algorithm>
#include <fstream>

#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/text/read_text_file.h"
#include "gui/explore/alternatives_model.h"
#include "gui/explore/explore_page.h"
#include "gui/explore/name_links.h"
#include "gui/explore/scatter.h"
#include "gui/explore/verdict_card.h"
#include "gui/explore/words.h"
#include "gui/export/write_exports.h"
#include "gui/fields/name_field.h"
#include "gui/fields/step_field.h"
#include "sim/planner/fit_answer.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

const char* const kTiny = "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=64";

const QHash<QString, QString> kStart{{"model", kTiny}, {"on", "RTX 2060 6GB"}, {"ram", "16GiB"}};

ExplorePage& explore(MainWindow& window) {
  auto* page = dynamic_cast<ExplorePage*>(window.page("explore"));
  REQUIRE(page != nullptr);
  return *page;
}

bool settled(const ExplorePage& page) {
  return test::wait_until([&] { return !page.busy(); });
}

/// Types a text into a field as a user does, and leaves it.
void type(ExplorePage& page, const char* field, const QString& text) {
  auto* name = page.findChild<NameField*>(field);
  REQUIRE(name != nullptr);
  name->lineEdit()->selectAll();
  QTest::keyClicks(name->lineEdit(), text);
  QTest::keyClick(name->lineEdit(), Qt::Key_Return);
}

void turn(ExplorePage& page, const char* field, double value) {
  auto* number = page.findChild<StepField*>(field);
  REQUIRE(number != nullptr);
  number->box()->setValue(value);
}

}  // namespace

TEST_CASE("a typed model, a picked GPU and a turned slider each change the verdict, and undo brings every one back") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.verdict()->plan->answer.fits);
  const QString first = page.card()->sentence();
  CHECK(first.startsWith("Fits"));

  type(page, "model", "gpt2-large");
  turn(page, "ram", 4);
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.verdict()->plan->answer.model == "gpt2-large");
  CHECK_FALSE(page.verdict()->plan->answer.fits);  // 0.77 B parameters x 16 bytes are more than 6 + 4 GiB
  CHECK(page.card()->sentence().startsWith("Does not fit"));

  type(page, "gpu", "A100 80GB SXM4");
  REQUIRE(settled(page));
  CHECK(page.verdict()->plan->answer.fits);

  for (int i = 0; i < 3; ++i) window->undo_stack().undo();
  REQUIRE(settled(page));
  CHECK(page.choices().model == kTiny);
  CHECK(page.card()->sentence() == first);
  window->undo_stack().redo();
  CHECK(page.choices().model == "gpt2-large");
}

TEST_CASE("the window's answer is that of plimsoll fit: the same search, nothing remembered of what was shown before") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  turn(page, "batch", 16);
  REQUIRE(settled(page));
  turn(page, "batch", 8);
  REQUIRE(settled(page));
  const auto problem = make_problem(page.choices(), nullptr);
  REQUIRE(problem);
  const auto search = search_plan(problem->spec, problem->recipe, problem->platform, *problem->costs);
  REQUIRE(search);
  const auto answer = fit_answer(*search, {problem->spec, problem->recipe, problem->platform, *problem->costs});
  REQUIRE(answer);
  CHECK(page.verdict()->plan->answer.strategy == answer->strategy);
  CHECK(page.verdict()->plan->answer.step_seconds == answer->step_seconds);
}

TEST_CASE("under WSL2 the window's answer has the memory that plimsoll fit has there") {
  const TemporaryFolder folder;
  auto options = kStart;
  options.insert("os", "wsl2");
  const auto window = test::make_window(folder, options);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  // WSL2 has half of the computer's 16 GiB unless it is told otherwise.
  const auto& memory = page.verdict()->answer().memory;
  const auto host = std::find_if(memory.begin(), memory.end(), [](const auto& space) { return space.space == "host"; });
  REQUIRE(host != memory.end());
  CHECK(host->usable == Bytes(std::int64_t{8} << 30));
  auto* list = page.findChild<QComboBox*>("os");
  CHECK(list->currentText() == "WSL2");
  CHECK_FALSE(with_options({}, {{"os", "wls2"}}).has_value());
  for (const auto& [option, value] : {std::pair{"base-bits", "3"}, {"zero", "9"}, {"recompute", "half"}}) {
    CHECK_FALSE(with_options({}, {{option, value}}).has_value());
  }
  CHECK(with_options({}, {{"recompute", "every:4"}})->recompute == "every:4");
  CHECK(with_options({}, {{"os", "linux"}, {"lora", "8"}, {"base-bits", "4"}})->base_bits == 4);
  // A number before the name counts boards, as on the command line.
  CHECK(with_options({}, {{"on", "8x H100 SXM5 80GB"}})->gpus == 8);
  CHECK(with_options({}, {{"on", "8x H100 SXM5 80GB"}})->gpu == "H100 SXM5 80GB");
  CHECK(with_options({}, {{"on", "H100 SXM5 80GB"}, {"gpus", "4"}})->gpus == 4);
}

TEST_CASE("dragging a slider is one change to undo") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  for (const double batch : {2, 4, 8, 16}) turn(page, "batch", batch);
  CHECK(window->undo_stack().count() == 1);
  window->undo_stack().undo();
  CHECK(page.choices().batch == 1);
}

TEST_CASE("a click on a point of the scatter chooses its strategy, to be undone like any choice") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  Scatter& scatter = *page.scatter();
  REQUIRE(scatter.points().size() > 1);
  QTest::mouseClick(&scatter, Qt::LeftButton, {}, scatter.place_of(0).toPoint());
  REQUIRE(page.choices().exact.has_value());
  REQUIRE(settled(page));
  CHECK(page.verdict()->plan->plan.strategy == *page.choices().exact);
  window->undo_stack().undo();
  CHECK_FALSE(page.choices().exact.has_value());
}

TEST_CASE("a model that is not there is refused in words, and the window lives on") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  type(page, "model", "gpt5-turbo-max");
  REQUIRE(settled(page));
  CHECK(page.verdict() == nullptr);
  CHECK(page.card()->sentence() == "No verdict");
  CHECK(page.card()->findChild<QLabel*>("plan")->text().contains("gpt5-turbo-max"));
  window->undo_stack().undo();
  REQUIRE(settled(page));
  CHECK(page.verdict() != nullptr);
}

TEST_CASE("of a name that means several boards each is a link that takes it, to be undone like any choice") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  type(page, "gpu", "RTX 2060");
  REQUIRE(settled(page));
  CHECK(page.verdict() == nullptr);
  auto* plan = page.card()->findChild<QLabel*>("plan");
  CHECK(plan->text().contains("<a href=\"gpu:RTX 2060 12GB\">RTX 2060 12GB</a>"));
  Q_EMIT plan->linkActivated("gpu:RTX 2060 12GB");
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.choices().gpu == "RTX 2060 12GB");
  window->undo_stack().undo();
  REQUIRE(settled(page));
  CHECK(page.choices().gpu.toStdString() == "RTX 2060");
}

TEST_CASE("known names in a text are links, all else stays text") {
  const QString html = with_name_links("no GPU is called 'Nope <b>' (did you mean P4, T4?)");
  CHECK(html.toStdString() ==
        "no GPU is called 'Nope &lt;b&gt;' (did you mean <a href=\"gpu:P4\">P4</a>, <a href=\"gpu:T4\">T4</a>?)");
  CHECK(with_name_links(QStringLiteral("没有名为“gpt2-xxl”的模型（是否指 x：gpt2-xl？）"))
            .contains("<a href=\"model:gpt2-xl\">gpt2-xl</a>"));
}

TEST_CASE("a dropped config.json is the model, a truncated one a message") {
  const TemporaryFolder folder;
  const std::string good = folder.file("config.json");
  std::ofstream(good) << R"({"model_type":"gpt2","n_embd":64,"n_layer":3,"n_head":4,"n_positions":64,"vocab_size":256})";
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  QMimeData dropped;
  dropped.setUrls({QUrl::fromLocalFile(QString::fromStdString(good))});
  QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(window.get(), &enter);
  REQUIRE(enter.isAccepted());
  QDropEvent drop(QPointF(400, 300), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(window.get(), &drop);
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.verdict()->plan->plan.spec.layers == 3);
  CHECK(window->recent_files().contains(QString::fromStdString(good)));
  std::ofstream(good) << R"({"model_type":"gpt2","n_em)";
  turn(page, "batch", 2);
  REQUIRE(settled(page));
  CHECK(page.verdict() == nullptr);
  CHECK(page.card()->findChild<QLabel*>("plan")->text().contains("config.json"));
}

TEST_CASE("an exported plan is one that verify_plan accepts, and an unwritable place is said") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  REQUIRE(window->plan() != nullptr);
  const QString path = QString::fromStdString(folder.file("plan.json"));
  REQUIRE(export_plan(*window->plan(), path));
  const auto text = read_text_file(path.toStdString(), Bytes(1 << 28));
  REQUIRE(text);
  const auto plan = read_plan(*text, "plan.json");
  REQUIRE(plan);
  CHECK(verify_plan(*plan));
  CHECK(plan->strategy == window->plan()->plan.strategy);
  const auto refused = export_plan(*window->plan(), QString::fromStdString(folder.file("no/such/folder/plan.json")));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text().find("plan.json") != std::string::npos);
}

TEST_CASE("tables and traces are exported whole") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  const QString csv = QString::fromStdString(folder.file("t.csv")), trace = QString::fromStdString(folder.file("t.json"));
  REQUIRE(page.tables().size() == 1);
  const QAbstractItemModel& table = *page.tables().front().model;
  REQUIRE(export_table(table, csv));
  const auto text = read_text_file(csv.toStdString(), Bytes(1 << 20));
  REQUIRE(text);
  CHECK(std::count(text->begin(), text->end(), '\n') == table.rowCount() + 1);
  REQUIRE(export_trace(*window->plan(), trace));
  CHECK(read_text_file(trace.toStdString(), Bytes(1 << 28))->find("traceEvents") != std::string::npos);
  CHECK(csv_field("a,\"b\"") == "\"a,\"\"b\"\"\"");
}

TEST_CASE("the alternatives keep the rules of item models, with and without a verdict") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  AlternativesModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.show_verdict(page.verdict());
  CHECK(model.rowCount() == static_cast<int>(page.verdict()->plan->answer.alternatives.size()) + 1);
  model.show_verdict(nullptr);
  CHECK(model.rowCount() == 0);
}

TEST_CASE("every field that takes the keyboard has a name for those who cannot see it, in both languages") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    window->set_language(language);
    for (const QWidget* widget : window->findChildren<QWidget*>()) {
      const bool field = qobject_cast<const QAbstractSpinBox*>(widget) != nullptr || qobject_cast<const QComboBox*>(widget) != nullptr ||
                         qobject_cast<const QSlider*>(widget) != nullptr;
      if (!field || (widget->focusPolicy() & Qt::TabFocus) == 0) continue;
      INFO(widget->objectName().toStdString() << " in " << widget->parentWidget()->objectName().toStdString());
      CHECK_FALSE(widget->accessibleName().isEmpty());
    }
  }
  window->set_language(Language::kEnglish);
}

TEST_CASE("settings are kept: language, theme and page are found again") {
  const TemporaryFolder folder;
  {
    const auto window = test::make_window(folder, kStart);
    window->set_language(Language::kChinese);
    window->set_theme("dark");
    window->show_page("run");
  }
  WindowOptions options{.choices = kStart};
  options.settings = QString::fromStdString(folder.file("settings.ini"));
  MainWindow again(options);
  CHECK(again.theme().dark);
  CHECK(again.current_page()->name() == "run");
  CHECK(again.page("explore")->title() == QStringLiteral("探索"));
  again.set_language(Language::kEnglish);
}

TEST_CASE("a file that no page takes is a message") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  std::ofstream(folder.file("picture.jpg")) << "no model";
  CHECK_FALSE(window->open_file(QString::fromStdString(folder.file("picture.jpg"))));
  CHECK(test::reported(*window).contains("picture.jpg"));
  CHECK_FALSE(window->open_file("/no/such/file"));
  CHECK(test::reported(*window).contains("/no/such/file"));
}

TEST_CASE("sizes and times are written with three significant places") {
  test::start_qt();
  QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
  CHECK(bytes_text(Bytes(6442450944)) == "6.00 GiB");
  CHECK(bytes_text(Bytes(1000 * 1024)) == "0.98 MiB");
  CHECK(bytes_text(Bytes(512)) == "512 B");
  CHECK(seconds_text(1.884) == "1.88 s");
  CHECK(seconds_text(0.0144) == "14.4 ms");
  CHECK(seconds_text(3 * 86400.0) == "3.00 days");
  CHECK(count_text(1.5576e9) == "1.56 B");
}
