#include <catch2/catch.hpp>

#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>

#include <chrono>
#include <set>

#include "formats/machines/gpu_catalogue.h"
#include "gui/explore/problem.h"
#include "gui/language/language.h"
#include "gui/language/say.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

QString unescaped(QString text) {
  return text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
}

/// The literals in calls of say and to_say in all of the window's sources, adjacent pieces joined.
std::set<QString> visible_texts() {
  static const QRegularExpression call(R"re(say\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\))re");
  static const QRegularExpression piece(R"re("((?:[^"\\]|\\.)*)")re");
  std::set<QString> texts;
  QDirIterator files(QStringLiteral(PLIMSOLL_SOURCE_ROOT "/gui"), {"*.cpp", "*.h"}, QDir::Files, QDirIterator::Subdirectories);
  while (files.hasNext()) {
    QFile file(files.next());
    REQUIRE(file.open(QIODevice::ReadOnly));
    auto calls = call.globalMatch(QString::fromUtf8(file.readAll()));
    while (calls.hasNext()) {
      QString text;
      auto pieces = piece.globalMatch(calls.next().captured(1));
      while (pieces.hasNext()) text += pieces.next().captured(1);
      texts.insert(unescaped(text));
    }
  }
  return texts;
}

std::set<QString> placeholders(const QString& text) {
  static const QRegularExpression mark("%\\d");
  std::set<QString> found;
  auto marks = mark.globalMatch(text);
  while (marks.hasNext()) found.insert(marks.next().captured());
  return found;
}


/// English words in a row that are no names: what a Chinese reader would stumble over.
bool has_english_sentence(QString text) {
  static const QRegularExpression command("plimsoll [a-z]+|--[a-z-]+ [A-Za-z]+");
  static const QRegularExpression words("[a-z]{2,} [a-z]{2,}");
  return words.match(text.remove(command)).hasMatch();
}

/// What the window says in Chinese of what the planner said.
QString said_in_chinese(const Catalogue& catalogue, const std::string& english) {
  const QString known = catalogue.translate("engine", english.c_str(), nullptr, -1);
  return known.isEmpty() ? QString::fromStdString(english) : known;
}

/// `name`: of a thing, which stays as it is ("K80 (one die)").
void check_chinese(const Catalogue& catalogue, const std::string& english, const std::string& name = "") {
  QString chinese = said_in_chinese(catalogue, english);
  if (!name.empty()) chinese.remove(QString::fromStdString(name));
  INFO(english << " -> " << chinese.toStdString());
  CHECK_FALSE(has_english_sentence(chinese));
}

Choices tiny_on(const std::string& gpu) {
  Choices choices;
  choices.model = "gpt:layers=1,hidden=64,heads=4,vocab=256,positions=64";
  choices.gpu = QString::fromStdString(gpu);
  choices.ssd_gb = 100;
  choices.desktop = true;
  return choices;
}

}  // namespace

TEST_CASE("of every GPU of the catalogue all that is assumed is said in Chinese") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  std::size_t asked = 0;
  for (const GpuEntry& gpu : built_in_gpu_catalogue()) {
    const auto problem = make_problem(tiny_on(gpu.name), nullptr);
    INFO(gpu.name);
    if (!problem) {
      check_chinese(catalogue, problem.error().text(), gpu.name);
      continue;
    }
    ++asked;
    for (const std::string& note : problem->notes) check_chinese(catalogue, note, gpu.name);
    check_chinese(catalogue, problem->costs->source());
  }
  CHECK(asked > 100);
}

TEST_CASE("what cannot be asked is refused in Chinese, too") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  const auto refused = [&](auto change) {
    Choices choices = tiny_on("RTX 2060 6GB");
    change(choices);
    const auto problem = make_problem(choices, nullptr);
    REQUIRE_FALSE(problem);
    check_chinese(catalogue, problem.error().text());
  };
  refused([](Choices& c) { c.model = "no-such-model"; });
  refused([](Choices& c) { c.model = ""; });
  refused([](Choices& c) { c.gpu = "RTX 9999"; });
  refused([](Choices& c) { c.gpu = "RTX 2060"; });
  refused([](Choices& c) { c.gpu = "this"; });
  refused([](Choices& c) { c.ram_gib = 1; });
  refused([](Choices& c) { c.pcie = "9x16"; });
  refused([](Choices& c) { c.pcie = "fast"; });
  refused([](Choices& c) { c.device_memory_gib = 100; });
  refused([](Choices& c) { c.sequence = 100'000; });
  refused([](Choices& c) { c.optimizer = "adamax"; });
  check_chinese(catalogue, "12 heads, 12 key heads or 3072 of the feed-forward layer do not divide by 8 tensor ranks");
  check_chinese(catalogue, "--tp: 511 tokens do not divide by 2 tensor ranks\n  choose a divisor");
  check_chinese(catalogue, "--tp: gpt2 has no rotary positions, of which no division among tensor ranks is modelled\n  leave --tp out");
  check_chinese(catalogue, "--tp: beside tensor ranks PyTorch shares states out as FSDP does (ZeRO-3)\n  add --zero 3");
  check_chinese(catalogue, "--offload: deepspeed offloads what ZeRO shares out\n  add --zero 2, or 3 for parameters");
  check_chinese(catalogue, "/a/config.json: the key 'vocab_size' is missing");
  check_chinese(catalogue, "run.plimsoll: the file is damaged or of another kind");
  check_chinese(
      catalogue,
      "dp 8, tp 4, pp 16 x 6 chunks (interleaved), ZeRO-1, sequence parallel, 32 micro-batches of 1, recompute none");
  check_chinese(catalogue, "dp 8, tp 2, pp 1, 1 micro-batch of 2, recompute full");
  check_chinese(catalogue, "the model checkpoints every block, with deepspeed.checkpointing.checkpoint or gradient_checkpointing_enable()");
}

TEST_CASE("a place in a file is told in Chinese before what is wrong there") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  CHECK(said_in_chinese(catalogue, "/a/config.json: line 1, byte 10: syntax error while parsing value - unexpected '}'; "
                                   "expected '[', '{', or a literal") ==
        QStringLiteral("/a/config.json：第 1 行，第 10 字节：解析时语法错误：意外的 '}'，应为 “[”、“{”或字面值（value）"));
  CHECK(said_in_chinese(catalogue, "/a/b.json.gz, byte 99 unpacked: the packed file is cut off") ==
        QStringLiteral("/a/b.json.gz，解压后第 99 字节：压缩文件被截断"));
}

// Tried in every way that it can be parted, such a text would outlast the test's time.
TEST_CASE("a long text of many parts is looked up, whether its parts are known or not") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  std::string parts;
  for (int i = 0; i < 40; ++i) parts += "no such thing " + std::to_string(i) + ": ";
  CHECK(said_in_chinese(catalogue, parts + "none") == QString::fromStdString(parts + "none"));
  CHECK(said_in_chinese(catalogue, parts + "the file is damaged").size() > 0);
  CHECK(said_in_chinese(catalogue, std::string(100'000, 'a')).size() == 100'000);
}

TEST_CASE("what nobody translated stays English as a whole, and the test of it can fail") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  const std::string unknown = "the moon: is made of green cheese (send a cow to look)";
  CHECK(said_in_chinese(catalogue, unknown) == QString::fromStdString(unknown));
  CHECK(has_english_sentence(QString::fromStdString(unknown)));
}

TEST_CASE("every visible text has a Chinese one with the same placeholders") {
  test::start_qt();
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  const std::set<QString> texts = visible_texts();
  REQUIRE(texts.size() > 100);
  for (const QString& text : texts) {
    const QString other = catalogue.texts().value(text.toUtf8());
    INFO(text.toStdString());
    CHECK(!other.isEmpty());
    CHECK(placeholders(text) == placeholders(other));
  }
}

TEST_CASE("no catalogue keeps a text that nobody says, but for those of Qt's own dialogs") {
  test::start_qt();
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  const std::set<QString> texts = visible_texts();
  const std::set<QString> of_qt{"&OK", "OK", "&Cancel", "Cancel", "&Yes", "&No", "&Save", "Save", "Open", "&Open"};
  for (const QByteArray& text : catalogue.texts().keys()) {
    INFO(text.toStdString());
    CHECK((texts.count(QString::fromUtf8(text)) == 1 || of_qt.count(QString::fromUtf8(text)) == 1));
  }
}

TEST_CASE("the language can change back and forth while the window is open") {
  test::start_qt();
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  speak(Language::kChinese, catalogue);
  CHECK(say("Undo") == QStringLiteral("撤销"));
  speak(Language::kEnglish, catalogue);
  CHECK(say("Undo") == QStringLiteral("Undo"));
}

TEST_CASE("a catalogue that is no object of texts is refused by name") {
  Catalogue catalogue;
  CHECK_FALSE(catalogue.add("[1]", "x.json"));
  CHECK_FALSE(catalogue.add("{", "x.json"));
  const auto refused = catalogue.add(R"({"a": 1})", "x.json");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().where.find("x.json") == 0);
}

TEST_CASE("what the planner says is translated by its pattern, what stands in it too, and the rest stays as it is") {
  Catalogue catalogue;
  REQUIRE(catalogue.add_patterns(R"json({"%1 CPU cores assumed": "假定有 %1 个 CPU 核", "%1 of %2: %3 (%4)": "%2 的 %1：%3（%4）",
                                     "kept for the desktop": "留给桌面"})json", "x.json"));
  const auto said = [&](const char* text) { return catalogue.translate("engine", text, nullptr, -1); };
  CHECK(said("6 CPU cores assumed") == QStringLiteral("假定有 6 个 CPU 核"));
  CHECK(said("600 MiB of T4: kept for the desktop (Linux)") == QStringLiteral("T4 的 600 MiB：留给桌面（Linux）"));
  CHECK(said("nothing of the kind").isEmpty());
}

TEST_CASE("patterns of the planner's texts have the same placeholders in both languages") {
  QFile file(QStringLiteral(PLIMSOLL_SOURCE_ROOT "/") + kEngineCatalogue);
  REQUIRE(file.open(QIODevice::ReadOnly));
  Catalogue catalogue;
  REQUIRE(catalogue.add(file.readAll().toStdString(), "zh_engine.json"));
  for (auto text = catalogue.texts().begin(); text != catalogue.texts().end(); ++text) {
    INFO(text.key().toStdString());
    CHECK(placeholders(QString::fromUtf8(text.key())) == placeholders(text.value()));
  }
}
