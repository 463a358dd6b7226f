#pragma once

#include <QHash>
#include <QSize>
#include <QStringList>

#include <optional>

#include "core/base/result.h"
#include "gui/language/language.h"

namespace plimsoll::gui {

/// What the window is started with.
struct WindowOptions {
  QHash<QString, QString> choices;  ///< for the Explore page, by the names of fit's options: "model", "on", "ram", …
  QStringList files;                ///< to open
  QString page;                     ///< to show first; empty: as it was left
  std::optional<Language> language; ///< nothing: as it was left
  QString theme;                    ///< "light", "dark", "system"; empty: as it was left
  QString screenshot;               ///< writes what is shown there and exits
  bool start = false;               ///< begins what the page's main button begins
  QSize size;                       ///< of the window; empty: as it was left
  QString settings;                 ///< where settings are kept; empty: the user's folder, and none with a screenshot
};

/// Reads the arguments. --help and --version print and exit.
Result<WindowOptions> read_command_line(const QStringList& arguments, const QString& version);

}  // namespace plimsoll::gui
