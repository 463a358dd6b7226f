#include <catch2/catch.hpp>

#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>

#include <set>

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


}  // namespace

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
