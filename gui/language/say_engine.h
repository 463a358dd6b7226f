#pragma once

#include <QByteArray>
#include <QCoreApplication>
#include <QString>

#include <string>

namespace plimsoll::gui {

/// What the planner or the program said, in the window's language where its pattern is known ("%1 CPU cores assumed"), else
/// as it is.
inline QString say_engine(const std::string& english) { return QCoreApplication::translate("engine", english.c_str()); }

/// What the program wrote to its standard error ("plimsoll: …"), without its name, in English.
inline QString program_error(const QByteArray& errors) {
  QString said = QString::fromUtf8(errors).trimmed();
  return said.startsWith(QLatin1String("plimsoll: ")) ? said.mid(10) : said;
}

/// The same in the window's language.
inline QString say_program_error(const QByteArray& errors) { return say_engine(program_error(errors).toStdString()); }

}  // namespace plimsoll::gui
