#include <catch2/catch.hpp>

#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QTest>

#include <fstream>
#include <set>

#include "gui/app/page.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

const QHash<QString, QString> kStart{
    {"model", "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=64"}, {"on", "RTX 2060 6GB"}, {"ram", "16GiB"}};

bool settled(const MainWindow& window) {
  return test::wait_until([&] {
    return std::none_of(window.pages().begin(), window.pages().end(), [](const Page* page) { return page->busy(); });
  });
}

/// What of a page Tab is to reach.
std::set<QWidget*> reachable(Page& page) {
  std::set<QWidget*> found;
  for (QWidget* widget : page.findChildren<QWidget*>()) {
    const bool takes = (widget->focusPolicy() & Qt::TabFocus) != 0 && widget->isVisibleTo(&page) && widget->isEnabled();
    const bool inner = qobject_cast<QComboBox*>(widget->parentWidget()) != nullptr || widget->objectName().startsWith("qt_");
    if (takes && !inner && widget->focusProxy() == nullptr) found.insert(widget);
  }
  return found;
}

}  // namespace

TEST_CASE("whatever Tab reaches has a name for a screen reader, on every page") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  REQUIRE(settled(*window));
  for (Page* page : window->pages()) {
    window->show_page(page->name());
    for (QWidget* widget : reachable(*page)) {
      QAccessibleInterface* told = QAccessible::queryAccessibleInterface(widget);
      REQUIRE(told != nullptr);
      INFO(page->name().toStdString() << ": " << widget->metaObject()->className() << " " << widget->objectName().toStdString());
      CHECK_FALSE(told->text(QAccessible::Name).isEmpty());
    }
  }
}

TEST_CASE("the keyboard alone reaches every field of the Explore page") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  REQUIRE(settled(*window));
  window->activateWindow();
  REQUIRE(QTest::qWaitForWindowActive(window.get(), 300'000));
  Page& page = *window->page("explore");
  const std::set<QWidget*> wanted = reachable(page);
  REQUIRE(wanted.size() > 20);
  std::set<QWidget*> reached;
  page.setFocus();
  for (std::size_t i = 0; i < 4 * wanted.size() && QApplication::focusWidget() != nullptr; ++i) {
    reached.insert(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  for (QWidget* widget : wanted) {
    INFO(widget->metaObject()->className() << " " << widget->objectName().toStdString());
    CHECK((reached.count(widget) == 1 ||
           std::any_of(reached.begin(), reached.end(), [&](QWidget* r) { return widget->isAncestorOf(r); })));
  }
}

TEST_CASE("damaged, foreign and unreadable files are messages, one each, and the window goes on") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, kStart);
  REQUIRE(settled(*window));
  const std::pair<const char*, const char*> files[] = {{"damaged.plimsoll", "no database"},
                                                       {"empty.json", ""},
                                                       {"cut.json", R"({"traceEvents":[{"ph":"X","ts":1,)"},
                                                       {"noise.safetensors", "\xff\xff\xff\xff\xff\xff\xff\x7f{}"}};
  for (const auto& [name, content] : files) {
    const std::string path = folder.file(name);
    std::ofstream(path, std::ios::binary) << content;
    INFO(name);
    window->open_file(QString::fromStdString(path));
    REQUIRE(settled(*window));
    const bool asked = std::string(name).ends_with(".safetensors");  // a model that cannot be read is the card's matter
    const QString said = asked ? window->page("explore")->problem() : test::reported(*window);
    CHECK(said.contains(QString::fromLatin1(name)));
  }
  CHECK(window->isVisible());
}
