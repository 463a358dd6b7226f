#include <catch2/catch.hpp>

#include "gui/theme/theme.h"

using namespace plimsoll;
using namespace plimsoll::gui;

TEST_CASE("texts stand out from what is behind them by 4.5 to 1, in both themes") {
  for (const Theme& theme : {light_theme(), dark_theme()}) {
    for (const QColor& ground : {theme.window, theme.panel}) {
      for (const QColor& text : {theme.text, theme.faint_text, theme.accent, theme.good, theme.warning, theme.bad}) {
        INFO(theme.dark << " " << text.name().toStdString() << " on " << ground.name().toStdString());
        CHECK(contrast(text, ground) >= 4.5);
      }
    }
  }
}

TEST_CASE("every colour with a meaning stands out from a panel by 3 to 1") {
  for (const Theme& theme : {light_theme(), dark_theme()}) {
    for (std::size_t n = 0; n < 8; ++n) {
      INFO(theme.dark << " series " << n << " " << theme.series(n).name().toStdString());
      CHECK(contrast(theme.series(n), theme.panel) >= 3);
    }
  }
}

TEST_CASE("one thing has one colour: what answers, plans and run files call it does not matter") {
  const Theme theme = light_theme();
  CHECK(theme.category("parameters") == theme.category("parameter"));
  CHECK(theme.category("optimizer") == theme.category("master"));
  CHECK(theme.category("activations") != theme.category("activation_gradients"));
  CHECK(theme.category("parameters") != theme.category("gradients"));
}

TEST_CASE("contrast is that of WCAG 2: black on white is 21 to 1") {
  CHECK(contrast(QColor(Qt::black), QColor(Qt::white)) == Approx(21.0));
  CHECK(contrast(QColor(Qt::white), QColor(Qt::white)) == Approx(1.0));
}
