#include <catch2/catch.hpp>

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QTimer>

#include <nlohmann/json.hpp>

#include "gui/app/find_engine.h"
#include "gui/explore/explore_page.h"
#include "gui/explore/offered_values.h"
#include "gui/explore/told_answer.h"
#include "gui/explore/verdict_card.h"
#include "gui/jobs/engine_call.h"
#include "gui/timeline/timeline_page.h"
#include "gui/timeline/timeline_view.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

const QHash<QString, QString> kPytorch{
    {"model", "gpt2"}, {"on", "RTX 3090"}, {"ram", "32GiB"}, {"stack", "pytorch"}, {"batch", "4"}};

ExplorePage& explore(MainWindow& window) { return dynamic_cast<ExplorePage&>(*window.page("explore")); }

bool settled(const ExplorePage& page) {
  return test::wait_until([&] { return !page.busy(); });
}

/// What the program itself prints.
nlohmann::json printed(const QStringList& arguments) {
  QProcess program;
  program.start(find_engine(), arguments);
  REQUIRE(program.waitForFinished(300'000));
  return nlohmann::json::parse(program.readAllStandardOutput().toStdString());
}

/// Chooses an entry of the menus as they are now.
void choose(MainWindow& window, const char* name) {
  const auto actions = window.findChildren<QAction*>(name);
  REQUIRE_FALSE(actions.isEmpty());
  REQUIRE(actions.last()->isEnabled());
  actions.last()->trigger();
}

/// Names a file in the dialog that an export is about to open, as a user does.
void answer_dialog(const QString& path) {
  auto* timer = new QTimer(qApp);
  QObject::connect(timer, &QTimer::timeout, timer, [timer, path] {
    for (QWidget* widget : QApplication::topLevelWidgets()) {
      auto* dialog = qobject_cast<QFileDialog*>(widget);
      if (dialog == nullptr || !dialog->isVisible()) continue;
      timer->deleteLater();
      dialog->findChild<QLineEdit*>("fileNameEdit")->setText(path);
      QMetaObject::invokeMethod(dialog, "accept");
      return;
    }
  });
  timer->start(20);
}

}  // namespace

TEST_CASE("choices become the options of fit, and those that are as usual are left out") {
  Choices c;
  c.model = "gpt2";
  c.gpu = "RTX 3090";
  CHECK_FALSE(asks_program(c));
  c.stack = "deepspeed";
  c.zero = "2";
  c.offload = "optimizer:cpu";
  c.batch = 4;
  CHECK(asks_program(c));
  CHECK(fit_options(c) == QStringList{"gpt2", "--on", "RTX 3090", "--ram", "16GiB", "--optimizer", "adamw", "--stack",
                                      "deepspeed", "--zero", "2", "--offload", "optimizer:cpu", "--batch", "4"});
  c.os = "wsl2";
  CHECK(fit_options(c).join(' ').contains("--ram 16GiB --os wsl2 --optimizer"));
  c.preferences = "dpo";
  CHECK(fit_options(c).join(' ').contains("--stack deepspeed --workload dpo --zero 2"));
  c.preferences = "grpo";
  CHECK(fit_options(c).join(' ').contains("--workload grpo --rollout vllm"));
  c.compile = true;
  for (const char* stack : {"megatron", "llm.c"}) {  // learn from texts alone, in layers of their own: the fields are not there
    c.stack = stack;
    for (const char* option : {"--workload", "--compile", "--offload"}) CHECK_FALSE(fit_options(c).contains(option));
  }
  c = {};
  c.model = "gpt2-xl";
  c.gpu = "A100 80GB SXM4";
  c.gpus = 8;
  c.tensor_ranks = 2;
  CHECK(fit_options(c) == QStringList{"gpt2-xl", "--on", "A100 80GB SXM4", "--gpus", "8", "--optimizer", "adamw", "--tp", "2"});
  c.layout = {"--dp", "8"};
  CHECK(fit_options(c) == QStringList{"gpt2-xl", "--on", "A100 80GB SXM4", "--gpus", "8", "--optimizer", "adamw", "--dp", "8"});
}

TEST_CASE("lists offer what the program that trains takes, and what was asked for whether or not it is taken") {
  Choices c;
  CHECK(offered_strategies(c).contains(kByHand));
  CHECK(offered_zero_stages(c) == QStringList{"", "0", "1", "2", "3"});
  c.stack = "megatron";  // as its check says: ZeRO-1 at most, no LAMB, states in fp32, no adapters
  CHECK(offered_zero_stages(c) == QStringList{"", "0", "1"});
  CHECK(offered_optimizers(c) == QStringList{"sgd", "momentum", "adam", "adamw", "lion", "muon"});
  CHECK(offered_precisions(c) == QStringList{"", "fp32", "tf32", "fp16-mixed", "bf16-mixed"});
  CHECK(offered_strategies(c) == QStringList{"auto"});
  CHECK_FALSE(offers_adapters(c));
  c.stack = "llm.c";
  CHECK(offered_optimizers(c) == QStringList{"adamw"});
  CHECK(offered_precisions(c) == QStringList{"", "fp32", "bf16-mixed"});
  CHECK(offered_zero_stages(c) == QStringList{"", "0", "1"});
  c.stack = "colossalai";
  CHECK(offered_strategies(c) == QStringList{"auto", "gemini-static", "gemini"});
  c.stack = "megatron";
  c.gpus = 8;
  for (const auto& [model, has] : {std::pair{"gpt2", false}, {"qwen3-30b-a3b", true}, {"gpt:layers=2,hidden=64,heads=4,vocab=256", false},
                                   {"gpt:layers=2,hidden=64,heads=4,vocab=256,experts=4", true}, {"a/config.json", true}}) {
    c.model = model;
    CHECK(offers_expert_ranks(c) == has);
  }
  c.expert_ranks = 8;
  c.sequence_parallel = true;
  CHECK(fit_options(c).join(' ').endsWith("--stack megatron --ep 8"));  // rows are shared by tensor ranks, of which there is one
  c.tensor_ranks = 2;
  CHECK(fit_options(c).join(' ').endsWith("--tp 2 --ep 8 --sequence-parallel"));
  c.stack = "colossalai";
  c.optimizer = "lamb";
  c.zero = "3";
  c.lora_rank = 8;
  c.strategy = "gemini";
  c.stack = "megatron";
  CHECK(offered_optimizers(c).contains("lamb"));  // the command line said so
  CHECK(offers_adapters(c));
  const Choices taken = with_taken_values(c);
  CHECK(taken.optimizer == "adamw");
  CHECK(taken.zero.isEmpty());
  CHECK(taken.lora_rank == 0);
  CHECK(taken.strategy == "auto");
  c.stack = "pytorch";
  CHECK(with_taken_values(c).expert_ranks == 0);
  CHECK(with_taken_values(c).tensor_ranks == 0);
}

TEST_CASE("nothing that the page offers under Megatron-LM is refused by the program, and what it does not take goes when it is chosen") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "gpt2"}, {"on", "A100 80GB SXM4"}, {"stack", "pytorch"}, {"optimizer", "lamb"},
                                                 {"lora", "8"}, {"zero", "3"}});
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  auto* stack = page.findChild<QComboBox*>("stack");
  stack->setCurrentIndex(stack->findData("megatron"));
  Q_EMIT stack->activated(stack->currentIndex());
  REQUIRE(settled(page));
  CHECK(page.choices().optimizer == "adamw");
  CHECK(page.verdict() != nullptr);
  for (const char* list : {"optimizer", "precision", "zero"}) {
    auto* box = page.findChild<QComboBox*>(list);
    REQUIRE(box->count() > 2);
    for (int i = 0; i < box->count(); ++i) {
      if (box->itemData(i).toString().isEmpty()) continue;
      Choices c = page.choices();
      (QString(list) == "optimizer" ? c.optimizer : QString(list) == "zero" ? c.zero : c.precision) = box->itemData(i).toString();
      const QStringList asked = QStringList{"fit"} + fit_options(c) + QStringList{"--json"};
      INFO(asked.join(' ').toStdString());
      CHECK_FALSE(printed(asked).contains("error"));
    }
  }
  window->undo_stack().undo();
  CHECK(page.choices().optimizer == "lamb");
}

TEST_CASE("the verdict of another program is what plimsoll fit prints, and its step is drawn over time") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kPytorch);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.verdict()->plan == nullptr);
  const auto said = printed(QStringList{"fit"} + fit_options(page.choices()) + QStringList{"--json"});
  const FitAnswer& answer = page.verdict()->answer();
  CHECK(answer.stack == "pytorch");
  CHECK(answer.step_seconds == said["step_seconds"].get<double>());
  CHECK(answer.memory.front().peak.count == said["memory"][0]["peak_bytes"].get<std::int64_t>());
  CHECK(answer.fits == (said["verdict"] == "fits"));
  CHECK(page.card()->sentence().startsWith("Fits"));

  page.findChild<QPushButton*>("over_time")->click();
  REQUIRE(test::wait_until([&] { return window->current_page()->name() == "timeline"; }));
  auto& timeline = dynamic_cast<TimelinePage&>(*window->current_page());
  REQUIRE(test::wait_until([&] { return !timeline.busy(); }));
  REQUIRE_FALSE(timeline.view().scene().sources.empty());
  CHECK(timeline.view().scene().sources.front().timeline->event_count() > 100);
}

TEST_CASE("a model that plimsoll has no kernels for is answered as PyTorch would train it, until somebody says who trains") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "resnet50"}, {"on", "RTX 3090"}});
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  const auto said = printed({"fit", "resnet50", "--on", "RTX 3090", "--ram", "16GiB", "--json"});
  CHECK(page.choices().stack == "plimsoll");
  CHECK(page.verdict()->fell_back);
  CHECK(page.verdict()->answer().stack == "pytorch");
  CHECK(page.verdict()->answer().step_seconds == said["step_seconds"].get<double>());
  CHECK(page.verdict()->asked.contains("pytorch"));  // which is what is drawn over time, and exported
  CHECK(page.findChild<QPushButton*>("over_time")->isVisibleTo(&page));
  Choices named = page.choices();
  named.strategy = "resident";
  page.choose(named, "strategy");
  REQUIRE(settled(page));
  CHECK(page.verdict() == nullptr);
  named.strategy = "auto";
  named.model = "gpt2";
  page.choose(named, "model");
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  CHECK_FALSE(page.verdict()->fell_back);
  CHECK(page.verdict()->plan != nullptr);
}

TEST_CASE("of several GPUs a layout is looked for, another of the front can be chosen, and undo looks again") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "gpt2-xl"}, {"on", "A100 80GB SXM4"}, {"gpus", "8"}});
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  REQUIRE(page.verdict() != nullptr);
  const auto said = printed({"fit", "gpt2-xl", "--on", "A100 80GB SXM4", "--gpus", "8", "--json"});
  CHECK(page.verdict()->answer().step_seconds == said["step_seconds"].get<double>());
  const std::string best = page.verdict()->answer().strategy.name;
  CHECK(best == said["strategy"]["name"].get<std::string>());
  REQUIRE_FALSE(page.verdict()->told.alternatives.empty());
  const std::string other = page.verdict()->told.alternatives.front().strategy;
  auto* table = page.findChild<QAbstractItemView*>("alternatives");
  Q_EMIT table->activated(table->model()->index(1, 0));
  REQUIRE(settled(page));
  CHECK_FALSE(page.choices().layout.isEmpty());
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.verdict()->answer().strategy.name == other);
  window->undo_stack().undo();
  REQUIRE(settled(page));
  CHECK(page.verdict()->answer().strategy.name == best);
}

TEST_CASE("what the program refuses is said in its words, and the next choice is answered again") {
  const TemporaryFolder folder;
  auto choices = kPytorch;
  choices.insert("zero", "3");
  choices.insert("offload", "optimizer:ssd");
  const auto window = test::make_window(folder, choices);
  ExplorePage& page = explore(*window);
  REQUIRE(settled(page));
  CHECK(page.verdict() == nullptr);
  CHECK(page.problem().contains("--offload"));
  Choices plain = page.choices();
  plain.offload.clear();
  plain.zero.clear();
  page.choose(plain, "all");
  REQUIRE(settled(page));
  CHECK(page.verdict() != nullptr);
}

TEST_CASE("an answer that is cut short or of another version is refused by what it lacks") {
  CHECK_FALSE(read_told("{\"format_version\": 1", {}));
  const auto refused = read_told(R"({"verdict": "fits"})", {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text().find("model") != std::string::npos);
}

TEST_CASE("a program that is killed, is not there or cannot be started is a message") {
  test::start_qt();
  const auto said = [](const QString& engine, const QStringList& arguments) {
    EngineCall call(engine);
    QString text;
    QObject::connect(&call, &EngineCall::refused, [&](const QString& why) { text = why; });
    QObject::connect(&call, &EngineCall::finished, [&](int code) { text = QString::number(code); });
    call.start(arguments);
    REQUIRE(test::wait_until([&] { return !text.isEmpty(); }));
    CHECK_FALSE(call.busy());
    return text;
  };
  CHECK(said("/bin/sh", {"-c", "kill -9 $$"}).contains("killed"));
  CHECK(said("/no/such/plimsoll", {}).contains("/no/such/plimsoll"));
  CHECK(said("", {}).contains("not found"));
  CHECK(said("/bin/sh", {"-c", "exit 3"}) == "3");
}

TEST_CASE("the menu writes a plan for another program, tells what that cannot say, and a setup of another program too") {
  const TemporaryFolder folder;
  auto window = test::make_window(
      folder, {{"model", "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=64"}, {"on", "RTX 2060 6GB"}});
  REQUIRE(settled(explore(*window)));
  const QString mine = QString::fromStdString(folder.file("mine.json"));
  answer_dialog(mine);
  choose(*window, "export.deepspeed.json");
  REQUIRE(test::wait_until([&] { return QFileInfo::exists(mine); }));
  QFile written(mine);
  REQUIRE(written.open(QIODevice::ReadOnly));
  const auto options = nlohmann::json::parse(written.readAll().toStdString());
  CHECK(options["train_micro_batch_size_per_gpu"] == 1);
  CHECK(options.contains("zero_optimization"));
  for (const char* name : {"export.trace.pftrace", "export.trace.csv", "export.fsdp2.json", "export.torch-checkpoint.py"}) {
    const QString path = QString::fromStdString(folder.file(name));
    answer_dialog(path);
    choose(*window, name);
    INFO(name);
    CHECK(test::wait_until([&] { return QFileInfo(path).size() > 0; }));
  }
  window = test::make_window(
      folder, {{"model", "gpt2"}, {"on", "RTX 3090"}, {"ram", "32GiB"}, {"stack", "deepspeed"}, {"zero", "2"}});
  REQUIRE(settled(explore(*window)));
  const QString theirs = QString::fromStdString(folder.file("theirs.json"));
  answer_dialog(theirs);
  choose(*window, "export.deepspeed.json");
  REQUIRE(test::wait_until([&] { return QFileInfo(theirs).size() > 0; }));
  QFile setup(theirs);
  REQUIRE(setup.open(QIODevice::ReadOnly));
  CHECK(nlohmann::json::parse(setup.readAll().toStdString())["zero_optimization"]["stage"] == 2);
}
